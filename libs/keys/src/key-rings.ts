import { boundedCache } from '@tessera/kit';
import type { Runtime } from '@tessera/process';
import { Code, ConnectError } from '@tessera/rpc';
import type { KeyRing } from './key-ring.ts';

/** The key rings of all issuers. No ring ever holds a key of another. */
export interface KeyRings {
  readonly shared: KeyRing;
  /**
   * The keys of a tenant's own issuer, or the shared ones if `tenantId` is empty. A tenant's are loaded when they are first used, and
   * again once they are older than the reload interval; its first key is generated then. Throws `temporarily_unavailable` if
   * they cannot be loaded.
   */
  of(tenantId: string): Promise<KeyRing>;
}

interface LoadedRing {
  readonly ring: KeyRing;
  /** Milliseconds since the Unix epoch. */
  loadedAt: number;
  loading: Promise<void> | undefined;
}

/** Tenants whose keys are kept in memory, about 10 KiB each; those of another are loaded again. */
const keptRings = 2_000;

const tenantIdShape = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function createKeyRings(options: {
  readonly shared: KeyRing;
  readonly ringOf: (tenantId: string) => KeyRing;
  readonly reloadMs: number;
  readonly runtime: Pick<Runtime, 'clock' | 'log'>;
}): KeyRings {
  const { shared, ringOf, reloadMs, runtime } = options;
  const rings = boundedCache<LoadedRing>(keptRings);

  async function load(loaded: LoadedRing, tenantId: string): Promise<void> {
    try {
      await loaded.ring.refresh();
    } catch (error) {
      if (!loaded.ring.isUsable()) throw error;
      runtime.log.warn(
        { error, tenantId },
        'cannot load the signing keys of a tenant; continuing with those in memory',
      );
    } finally {
      loaded.loadedAt = runtime.clock.now();
      loaded.loading = undefined;
    }
  }

  return {
    shared,
    async of(tenantId) {
      if (tenantId === '') return shared;
      if (!tenantIdShape.test(tenantId))
        throw new ConnectError('There is no such tenant.', Code.InvalidArgument);
      const loaded = rings.get(tenantId) ?? {
        ring: ringOf(tenantId),
        loadedAt: -Infinity,
        loading: undefined,
      };
      rings.set(tenantId, loaded);
      const isDue = !loaded.ring.isUsable() || runtime.clock.now() - loaded.loadedAt >= reloadMs;
      if (isDue) await (loaded.loading ??= load(loaded, tenantId));
      return loaded.ring;
    },
  };
}
