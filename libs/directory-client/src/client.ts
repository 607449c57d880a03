import { ChangeKind } from '@tessera/proto-gen/directory';
import { isActive, isServedAt, mayUse } from './access.ts';
import { ClientAuthenticator } from './client-authentication/client-authenticator.ts';
import { DirectoryCache } from './directory-cache.ts';
import type { DirectoryClient, DirectoryClientDeps } from './directory-client-types.ts';
import { IssuerList } from './tenant-issuers.ts';
import { VerifiedAssertions } from './client-authentication/verified-assertions.ts';
import { VerifiedSecrets } from './client-authentication/verified-secrets.ts';
import { ChangeWatch } from './change-watch.ts';

/**
 * Maximum ages in the cache. While the watch is connected it drops changed records; the age only bounds a change that
 * was missed. Short ages cost: with ten thousand clients a minute lets every fourth request read a record again.
 */
const watchedMs = 600_000;
const unwatchedMs = 1_000;

/** Watches the directory until `close`. */
export function createDirectoryClient(deps: DirectoryClientDeps): DirectoryClient {
  const { directory, runtime, limiter } = deps;
  const { clock, random } = runtime;
  const watched = () => watch.connected;
  const cache = new DirectoryCache({
    directory,
    clock,
    maxAge: () => (watched() ? watchedMs : unwatchedMs),
  });
  const issuers = new IssuerList({ directory, clock, maxAge: () => (watched() ? watchedMs : unwatchedMs) });
  const secrets = new VerifiedSecrets({ clock, random, watched, unwatchedMs });
  const assertions = new VerifiedAssertions({ directory, clock, random, watched, unwatchedMs });
  const authenticator = new ClientAuthenticator({ directory, cache, secrets, assertions, limiter });
  const watch = new ChangeWatch({
    directory,
    runtime,
    onChange(change) {
      cache.drop(change);
      authenticator.drop(change);
      deps.onChange?.(change);
      if (change.kind === ChangeKind.TENANT) issuers.drop();
    },
    onGap() {
      cache.clear();
      authenticator.clear();
      deps.onGap?.();
      issuers.drop();
    },
  });
  return {
    application: (clientId, call) => cache.application(clientId, call),
    hasCached: (clientId) => cache.hasApplication(clientId),
    hasTenant: async (tenantId, call) => (await cache.tenant(tenantId, call)) !== undefined,
    tenant: (tenantId, call) => cache.tenant(tenantId, call),
    async isTenantServedAt(tenantId, at, call) {
      if (at.tenantId !== '') return at.tenantId === tenantId;
      const tenant = await cache.tenant(tenantId, call);
      return tenant !== undefined && isServedAt(tenant, at);
    },
    tenantIssuers: () => issuers.get(),
    user: (tenantId, userId, call) => cache.user(tenantId, userId, call),
    authenticateClient: (credentials, from, call) => authenticator.authenticate(credentials, from, call),
    isActive,
    mayUse,
    close: () => watch.close(),
  };
}
