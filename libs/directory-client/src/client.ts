import { Code, ConnectError, type CallOptions } from '@tessera/kit';
import { ChangeKind, type User, type WatchChangesResponse } from '@tessera/proto-gen/directory';
import { isActive } from './active.ts';
import { ClientAuthenticator } from './authenticate.ts';
import { RecordCache } from './record-cache.ts';
import type { ApplicationRecord, DirectoryClient, DirectoryClientOptions } from './types.ts';
import { VerifiedSecrets } from './verified-secrets.ts';
import { Watch } from './watch.ts';

/** The watch drops what changed; these ages are the net under it. */
const guardedMs = 10_000;
const unguardedMs = 1_000;

const capacity = 10_000;

/** What a registered identifier can look like; anything else is unknown without asking. */
const plausibleId = /^[\x21-\x7e]{1,128}$/;

/** Starts watching the directory at once; `close` ends that. */
export function createDirectoryClient(options: DirectoryClientOptions): DirectoryClient {
  const { directory, kit } = options;
  const guarded = () => watch.connected;
  const maxAge = () => (guarded() ? guardedMs : unguardedMs);
  const applications = new RecordCache<ApplicationRecord>({ clock: kit.clock, maxAge, capacity });
  const users = new RecordCache<User>({ clock: kit.clock, maxAge, capacity });
  const secrets = new VerifiedSecrets({
    clock: kit.clock,
    random: kit.random,
    guarded,
    unguardedMs,
    capacity,
  });

  const application = async (clientId: string, call: CallOptions) => {
    if (!plausibleId.test(clientId)) return undefined;
    return applications.get(clientId, call, async () => {
      const found = await unlessNotFound(directory.getApplication({ clientId }, call));
      if (found?.application === undefined || found.tenant === undefined) return undefined;
      return { application: found.application, tenant: found.tenant };
    });
  };
  const authenticator = new ClientAuthenticator({
    directory,
    application,
    secrets,
    limiter: options.limiter,
  });

  const onGap = () => {
    applications.clear();
    users.clear();
    secrets.clear();
    authenticator.forgetAttempts();
  };
  const onChange = (change: WatchChangesResponse) => {
    if (change.kind === ChangeKind.USER) return users.drop(userKey(change.tenantId, change.id));
    authenticator.forgetAttempts();
    if (change.kind === ChangeKind.APPLICATION) {
      applications.drop(change.id);
      secrets.drop(change.id);
      return;
    }
    applications.dropWhere((record) => record.tenant.tenantId === change.tenantId);
    users.dropWhere((user) => user.tenantId === change.tenantId);
    secrets.dropTenant(change.tenantId);
  };
  const watch = new Watch({ directory, kit, onChange, onGap });

  return {
    application,
    user: async (tenantId, userId, call) => {
      if (!plausibleId.test(userId) || !plausibleId.test(tenantId)) return undefined;
      return users.get(userKey(tenantId, userId), call, async () => {
        const found = await unlessNotFound(directory.getUser({ tenantId, userId }, call));
        return found?.user;
      });
    },
    authenticateClient: (credentials, caller, call) => authenticator.authenticate(credentials, caller, call),
    isActive,
    close: () => watch.close(),
  };
}

function userKey(tenantId: string, userId: string): string {
  return `${tenantId} ${userId}`;
}

async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}
