import { isActive } from './access.ts';
import { ClientAuthenticator } from './client-authentication.ts';
import { CachedRecords } from './directory-cache.ts';
import { mayUse } from './may-use.ts';
import type { DirectoryClient, DirectoryClientOptions } from './types.ts';
import { VerifiedSecrets } from './verified-secrets.ts';
import { Watch } from './change-watch.ts';

/** The watch drops what changed; these ages are the net under it. */
const guardedMs = 60_000;
const unguardedMs = 1_000;

/** Starts watching the directory at once; `close` ends that. */
export function createDirectoryClient(options: DirectoryClientOptions): DirectoryClient {
  const { directory, kit, limiter } = options;
  const { clock, random } = kit;
  const guarded = () => watch.connected;
  const records = new CachedRecords({
    directory,
    clock,
    maxAge: () => (guarded() ? guardedMs : unguardedMs),
  });
  const secrets = new VerifiedSecrets({ clock, random, guarded, unguardedMs });
  const authenticator = new ClientAuthenticator({ directory, records, secrets, limiter });
  const watch = new Watch({
    directory,
    kit,
    onChange(change) {
      records.drop(change);
      authenticator.drop(change);
    },
    onGap() {
      records.clear();
      authenticator.clear();
    },
  });
  return {
    application: (clientId, call) => records.application(clientId, call),
    user: (tenantId, userId, call) => records.user(tenantId, userId, call),
    authenticateClient: (credentials, caller, call) => authenticator.authenticate(credentials, caller, call),
    isActive,
    mayUse,
    close: () => watch.close(),
  };
}
