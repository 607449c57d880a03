import type { ChangeFeed } from '@tessera/stores';
import { invalidFields, type Handlers } from '@tessera/rpc';
import { ChangeKind, type DirectoryService } from '@tessera/proto-gen/directory';
import {
  builtInApplication,
  isSecretOfConsole,
  type CommandLineLogin,
  type ConsoleClient,
} from './applications/built-in-applications.ts';
import type { VerifyAssertion } from './assertions/verify-assertion.ts';
import type { ClientSecrets } from './secrets/client-secrets.ts';
import {
  applicationMessage,
  changeKind,
  issuersMessage,
  looksMessage,
  tenantMessage,
  userMessage,
} from './messages.ts';
import { notFound } from './ground/refusals.ts';
import { seconds } from './ground/seconds.ts';
import type { PepperCheck } from './secrets/pepper-check.ts';
import { longestIdentifier, normalizeIdentifier } from './users/identifiers.ts';
import type { SecretUses } from './secrets/secret-uses.ts';
import type { ChangeStore, SequencedChange } from './feed/change-store.ts';
import type { DirectoryStore } from './store/store.ts';

export interface DirectoryDeps {
  readonly store: DirectoryStore;
  readonly changes: ChangeStore;
  readonly feed: ChangeFeed<SequencedChange>;
  readonly secrets: ClientSecrets;
  readonly pepperCheck: PepperCheck;
  readonly verifyAssertion: VerifyAssertion;
  readonly secretUses: SecretUses;
  /** Undefined if nobody may administer every tenant. */
  readonly operatorTenant: string | undefined;
  readonly commandLineLogin: CommandLineLogin;
  readonly console: ConsoleClient;
  readonly sendsMail: boolean;
  /** Of new ones, in characters. */
  readonly passwordMinLength: number;
}

/** The calls that read records; those by which people prove who they are are not of this room. */
export type RecordReads = Pick<
  Handlers<typeof DirectoryService>,
  | 'getApplication'
  | 'verifyApplicationSecret'
  | 'verifyClientAssertion'
  | 'getTenant'
  | 'getTenantLooks'
  | 'listTenantIssuers'
  | 'getUser'
  | 'batchGetUsers'
  | 'findUser'
  | 'watchChanges'
>;

/** That one call reads. */
const mostUsers = 1000;

/** A position that cannot be resumed, so that the watch starts at the present. */
const present = -1;

export function directoryHandlers(deps: DirectoryDeps): RecordReads {
  const { store, changes, feed, secrets, pepperCheck, secretUses, sendsMail } = deps;

  const findByIdentifier = async (tenantId: string, identifier: string) => {
    if (identifier.length > longestIdentifier) return undefined;
    return store.findUserByIdentifier(tenantId, normalizeIdentifier(identifier));
  };

  const startOf = async (afterSequence: bigint, since: bigint): Promise<number> => {
    if (afterSequence > 0n) return Number(afterSequence);
    return since > 0n ? changes.positionBefore(Number(since)) : present;
  };

  return {
    async getApplication({ clientId }) {
      const found = (await builtInApplication(clientId, deps)) ?? (await store.findApplication(clientId));
      if (found === undefined) throw notFound('The application');
      return applicationMessage(found, sendsMail);
    },

    async verifyApplicationSecret({ clientId, clientSecret }) {
      const isConsole = isSecretOfConsole({ clientId, clientSecret }, deps.console);
      if (isConsole !== undefined) return { verified: isConsole };
      const stored = await store.findSecrets(clientId);
      const match = secrets.match({ clientId, clientSecret }, stored);
      if (stored === undefined || match === undefined) {
        // With the wrong pepper every secret looks wrong, so that cannot be the response.
        await pepperCheck.require();
        return { verified: false };
      }
      await pepperCheck.prove();
      secretUses.record({ tenantId: stored.tenantId, clientId, digest: match.digest });
      return { verified: true, expiresAt: seconds(match.expiresAt ?? 0) };
    },

    async verifyClientAssertion(presented) {
      const { reusableUntilMs, ...verified } = await deps.verifyAssertion(presented);
      return { ...verified, reusableUntilMs: BigInt(reusableUntilMs) };
    },

    async getTenant({ tenantId }) {
      const tenant = await store.findTenant(tenantId);
      if (tenant === undefined) throw notFound('The tenant');
      return { tenant: tenantMessage(tenant, sendsMail) };
    },

    async getTenantLooks({ tenantId }) {
      const tenant = await store.findTenant(tenantId);
      if (tenant === undefined) throw notFound('The tenant');
      return { ...looksMessage(tenant, sendsMail), passwordMinLength: deps.passwordMinLength };
    },

    async listTenantIssuers() {
      return issuersMessage(await store.tenantIssuers(), await store.declaredUses());
    },

    async getUser({ tenantId, userId }) {
      const found = await store.findUser(tenantId, userId);
      if (found === undefined) throw notFound('The user');
      return { user: userMessage(found) };
    },

    async batchGetUsers({ tenantId, userIds }) {
      if (userIds.length > mostUsers)
        throw invalidFields([{ field: 'userIds', description: `must be at most ${mostUsers}` }]);
      return { users: (await store.findUsers(tenantId, userIds)).map(userMessage) };
    },

    async findUser({ tenantId, identifier }) {
      const found = await findByIdentifier(tenantId, identifier);
      if (found === undefined) throw notFound('The user');
      return { user: userMessage(found) };
    },

    async *watchChanges({ afterSequence, since }, { signal }) {
      for await (const item of feed.watch(await startOf(afterSequence, since), signal)) {
        if (item.kind === 'position') {
          yield { sequence: BigInt(item.sequence), kind: ChangeKind.UNSPECIFIED };
        } else {
          const { sequence, kind, recordedAt, ...change } = item.change;
          yield {
            ...change,
            sequence: BigInt(sequence),
            kind: changeKind(kind),
            recordedAt: BigInt(recordedAt),
          };
        }
      }
    },
  };
}
