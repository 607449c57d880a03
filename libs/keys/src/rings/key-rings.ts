import { boundedCache } from '@tessera/kit';
import type { Runtime } from '@tessera/process';
import { Code, ConnectError } from '@tessera/rpc';
import type { IssuerKeys } from './issuer-keys.ts';
import type { StoredKey } from '../store.ts';

/** The keys of all issuers. No ring ever holds a key of another. */
export interface KeyRings {
  readonly shared: IssuerKeys;
  /**
   * The keys of a tenant's own issuer, or the shared ones if `tenantId` is empty. A tenant's are loaded when they are
   * first used, and again once they are older than the reload interval; its first keys are generated then. Throws
   * `temporarily_unavailable` if they cannot be loaded.
   */
  of(tenantId: string): Promise<IssuerKeys>;
  /** The keys of an issuer as they are stored now, by algorithm, newest first; none are generated. */
  stored(tenantId: string): Promise<readonly StoredKey[]>;
  /** Takes no further step of a schedule; resolves when the current one has ended. */
  close(): Promise<void>;
}

interface TenantRing {
  readonly tenantId: string;
  readonly keys: IssuerKeys;
  /** Milliseconds since the Unix epoch. */
  loadedAt: number;
  wasUsed: boolean;
  loading: Promise<void> | undefined;
  isWaitingToAdvance: boolean;
}

/** Tenants whose keys are kept in memory, about 10 KiB each; those of another are loaded again. */
const keptRings = 2_000;

const tenantIdShape = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function createKeyRings(deps: {
  readonly shared: IssuerKeys;
  readonly keysOf: (tenantId: string) => IssuerKeys;
  readonly reloadMs: number;
  readonly runtime: Pick<Runtime, 'clock' | 'log'>;
}): KeyRings {
  const { shared, keysOf, reloadMs, runtime } = deps;
  const rings = boundedCache<TenantRing>(keptRings);
  let steps = Promise.resolve();
  let closed = false;

  async function load(tenant: TenantRing): Promise<void> {
    const { keys, tenantId } = tenant;
    tenant.wasUsed = false;
    try {
      await keys.refresh();
      if (keys.isUsable()) advanceLater(tenant);
      else await keys.advance();
    } catch (error) {
      if (!keys.isUsable()) throw error;
      runtime.log.warn(
        { err: error, tenantId },
        'cannot load the signing keys of a tenant; continuing with those in memory',
      );
    } finally {
      tenant.loadedAt = runtime.clock.now();
      tenant.loading = undefined;
    }
  }

  // One after the other: the keys of many tenants may be due at once, and each takes a thread for a while to generate.
  function advanceLater(tenant: TenantRing): void {
    if (tenant.isWaitingToAdvance) return;
    tenant.isWaitingToAdvance = true;
    steps = steps.then(async () => {
      tenant.isWaitingToAdvance = false;
      if (closed) return;
      await tenant.keys.advance().catch((error: unknown) => {
        runtime.log.warn(
          { err: error, tenantId: tenant.tenantId },
          'cannot rotate the signing keys of a tenant',
        );
      });
    });
  }

  const ageOf = (tenant: TenantRing) => runtime.clock.now() - tenant.loadedAt;

  /** Loads the keys of `due`, and in the same statement those of other tenants in use that will be due soon. */
  async function loadWithOthers(due: TenantRing): Promise<void> {
    for (const tenant of rings.values()) {
      if (tenant === due || !tenant.wasUsed || ageOf(tenant) < reloadMs / 2) continue;
      (tenant.loading ??= load(tenant)).catch(() => undefined);
    }
    await (due.loading ??= load(due));
  }

  /** Throws InvalidArgument for a name that no tenant has. */
  function requireTenantId(tenantId: string): void {
    if (!tenantIdShape.test(tenantId))
      throw new ConnectError('There is no such tenant.', Code.InvalidArgument);
  }

  return {
    shared,
    async stored(tenantId) {
      if (tenantId === '') return shared.stored();
      requireTenantId(tenantId);
      return (rings.get(tenantId)?.keys ?? keysOf(tenantId)).stored();
    },
    async of(tenantId) {
      if (tenantId === '') return shared;
      requireTenantId(tenantId);
      const tenant = rings.get(tenantId) ?? {
        tenantId,
        keys: keysOf(tenantId),
        loadedAt: -Infinity,
        wasUsed: false,
        loading: undefined,
        isWaitingToAdvance: false,
      };
      rings.set(tenantId, tenant);
      const isDue = !tenant.keys.isUsable() || ageOf(tenant) >= reloadMs;
      if (isDue) await loadWithOthers(tenant);
      tenant.wasUsed = true;
      return tenant.keys;
    },
    async close() {
      closed = true;
      await steps;
    },
  };
}
