import { rootCall, type Client } from '@tessera/rpc';
import type { Clock } from '@tessera/kit';
import type { Runtime } from '@tessera/process';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { ChangeKind } from '@tessera/proto-gen/directory';
import {
  declaresNothing,
  temporarilyUnavailable,
  type DeclaredUse,
  type EndpointStyle,
} from '@tessera/oauth';
import { ChangeWatch } from './change-watch.ts';

/** Tenants by their own issuers. */
export type TenantIssuers = ReadonlyMap<string, string>;

/**
 * The signing algorithms besides RS256 that resources declare, by the tenant whose issuer it is, or '' for the shared
 * one.
 */
export type DeclaredAlgorithms = ReadonlyMap<string, readonly string[]>;

interface Listed {
  readonly issuers: TenantIssuers;
  readonly declared: DeclaredAlgorithms;
  /** The tenants whose endpoints are found by the paths of Keycloak, too. */
  readonly likeKeycloak: ReadonlySet<string>;
  /** By the tenant whose issuer it is, or '' for the shared one. */
  readonly uses: ReadonlyMap<string, DeclaredUse>;
}

const loadTimeoutMs = 2_000;
/** After a failure the next attempt waits this long. */
const pauseMs = 1_000;

/**
 * The complete list of issuers that tenants have of their own, so that an unknown issuer costs neither a call nor
 * memory. The last list is used while the directory is unavailable.
 */
export class IssuerList {
  readonly #directory: Client<typeof DirectoryService>;
  readonly #clock: Clock;
  readonly #maxAge: () => number;
  readonly #onDeclared: (tenantIds: readonly string[]) => void;
  #current: (Listed & { readonly loadedAt: number }) | undefined;
  #failedAt = -Infinity;
  #loading: Promise<void> | undefined;
  /** Counts changes, so that a list read before a change is not taken for the current one. */
  #version = 0;
  #loadedVersion = -1;

  constructor(deps: {
    readonly directory: Client<typeof DirectoryService>;
    readonly clock: Clock;
    /** The current maximum age of the list, in milliseconds. */
    readonly maxAge: () => number;
    /**
     * Called with the issuers whose resources declare more than in the list before: their tenants, or '' for the shared
     * one.
     */
    readonly onDeclared?: ((tenantIds: readonly string[]) => void) | undefined;
  }) {
    this.#onDeclared = deps.onDeclared ?? (() => undefined);
    this.#directory = deps.directory;
    this.#clock = deps.clock;
    this.#maxAge = deps.maxAge;
  }

  /** Throws `temporarily_unavailable` if there is no list yet and the directory is unavailable. */
  async get(): Promise<TenantIssuers> {
    if (!this.#isFresh()) await this.#load();
    if (this.#current === undefined) throw temporarilyUnavailable();
    return this.#current.issuers;
  }

  /**
   * The list without a call; undefined until the first one arrived. One that may be out of date is read again in the
   * background.
   */
  current(): TenantIssuers | undefined {
    if (!this.#isFresh()) void this.#load();
    return this.#current?.issuers;
  }

  /** The algorithms besides RS256 that resources of an issuer declare, as the last list has it, without a call. */
  declaredBy(tenantId: string): readonly string[] {
    return this.#current?.declared.get(tenantId) ?? [];
  }

  /** By what paths the endpoints of a tenant's own issuer are found, as the last list has it, without a call. */
  endpointsOf(tenantId: string): EndpointStyle {
    return this.#current?.likeKeycloak.has(tenantId) === true ? 'keycloak' : 'standard';
  }

  /** What applications of an issuer make it announce, as the last list has it, without a call. */
  declaredUseAt(tenantId: string): DeclaredUse {
    return this.#current?.uses.get(tenantId) ?? declaresNothing;
  }

  /** Reads the list as it is now. Resolves also if the directory is unavailable. */
  reload(): Promise<void> {
    this.#version += 1;
    return this.#load();
  }

  /** The list may have changed. */
  drop(): void {
    this.#version += 1;
    if (this.#current !== undefined) void this.#load();
  }

  #isFresh(): boolean {
    if (this.#current === undefined || this.#loadedVersion !== this.#version) return false;
    const age = this.#clock.now() - this.#current.loadedAt;
    return age >= 0 && age <= this.#maxAge();
  }

  #load(): Promise<void> {
    const isTooSoon = this.#current !== undefined && this.#clock.now() - this.#failedAt < pauseMs;
    if (isTooSoon && this.#loading === undefined) return Promise.resolve();
    this.#loading ??= this.#read().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #read(): Promise<void> {
    for (;;) {
      const version = this.#version;
      const loadedAt = this.#clock.now();
      try {
        const before = this.#current?.declared;
        this.#current = { ...(await readIssuers(this.#directory)), loadedAt };
        this.#loadedVersion = version;
        const more = before === undefined ? [] : declaringMore(before, this.#current.declared);
        if (more.length > 0) this.#onDeclared(more);
      } catch {
        this.#failedAt = this.#clock.now();
        return;
      }
      if (version === this.#version) return;
    }
  }
}

async function readIssuers(directory: Client<typeof DirectoryService>): Promise<Listed> {
  const call = rootCall('tenant-issuers', loadTimeoutMs);
  const { issuers, sharedSigningAlgorithms, sharedDeclaredUse } = await directory.listTenantIssuers({}, call);
  const own = issuers.map(({ tenantId, signingAlgorithms }) => [tenantId, signingAlgorithms] as const);
  return {
    issuers: new Map(issuers.map(({ tenantId, issuer }) => [issuer, tenantId])),
    declared: new Map([...own, ['', sharedSigningAlgorithms]]),
    likeKeycloak: new Set(
      issuers.filter(({ endpoints }) => endpoints === 'keycloak').map(({ tenantId }) => tenantId),
    ),
    uses: new Map([
      ...issuers.map(({ tenantId, declaredUse }) => [tenantId, useOf(declaredUse)] as const),
      ['', useOf(sharedDeclaredUse)],
    ]),
  };
}

/** Compatibility until 0.4: a directory of version 0.2 sends none. */
function useOf(sent: DeclaredUse | undefined): DeclaredUse {
  if (sent === undefined) return declaresNothing;
  const { idTokenAlgorithms, authenticationMethods, grantTypes } = sent;
  return { idTokenAlgorithms, authenticationMethods, grantTypes };
}

function declaringMore(before: DeclaredAlgorithms, now: DeclaredAlgorithms): string[] {
  return [...now].flatMap(([tenantId, names]) =>
    names.every((name) => before.get(tenantId)?.includes(name)) ? [] : [tenantId],
  );
}

/**
 * The list with a watch of its own, for a service that needs nothing else of the directory's records. It is read as
 * soon as the directory is reached.
 */
export interface WatchedIssuers extends Pick<
  IssuerList,
  'get' | 'current' | 'reload' | 'declaredBy' | 'declaredUseAt' | 'endpointsOf'
> {
  close(): Promise<void>;
}

const watchedMs = 60_000;
const unwatchedMs = 1_000;

export function watchTenantIssuers(deps: {
  readonly directory: Client<typeof DirectoryService>;
  readonly runtime: Pick<Runtime, 'clock' | 'random' | 'log'>;
  /** As of IssuerList. */
  readonly onDeclared?: (tenantIds: readonly string[]) => void;
}): WatchedIssuers {
  const { directory, runtime, onDeclared } = deps;
  const list = new IssuerList({
    directory,
    onDeclared,
    clock: runtime.clock,
    maxAge: () => (watch.connected ? watchedMs : unwatchedMs),
  });
  const watch = new ChangeWatch({
    directory,
    runtime,
    onChange: ({ kind }) => {
      if (kind === ChangeKind.TENANT) list.drop();
    },
    onGap: () => void list.reload(),
  });
  return {
    get: () => list.get(),
    current: () => list.current(),
    declaredBy: (tenantId) => list.declaredBy(tenantId),
    declaredUseAt: (tenantId) => list.declaredUseAt(tenantId),
    endpointsOf: (tenantId) => list.endpointsOf(tenantId),
    reload: () => list.reload(),
    close: () => watch.close(),
  };
}
