import { availableParallelism } from 'node:os';
import type { KeyObject } from 'node:crypto';
import { auditRoute } from '@tessera/audit';
import { opaqueValue } from '@tessera/kit';
import { userIdPrefix } from '@tessera/oauth';
import { type Runtime } from '@tessera/process';
import type { Route } from '@tessera/rpc';
import { ChangeFeed, startPurge, type Migrations } from '@tessera/stores';
import { openAssertions } from './assertions/open-assertions.ts';
import { hashConcurrency, parseConsoleIdentity, pepperOf, type DirectoryConfig } from './config.ts';
import { purgeDeleted, type ForgetPeople } from './deleted/deleted-records.postgres.ts';
import { createDeclaredTotps } from './factors/declared-totps.ts';
import { createChangeStore } from './feed/change-store.postgres.ts';
import { HashQueue } from './ground/hashing/hash-queue.ts';
import { Passwords } from './ground/passwords/passwords.ts';
import { createProviderSecrets, type ProviderSecrets } from './providers/provider-secrets.ts';
import { recordRoutes } from './calls/record-routes.ts';
import { ClientSecrets } from './secrets/client-secrets.ts';
import { createPepperCheck } from './secrets/pepper-check.ts';
import { SecretUses } from './secrets/secret-uses.ts';
import { directoryHandlers, type RecordReads } from './service.ts';
import { createAdminStore } from './store/admin-store.postgres.ts';
import type { AnnounceToPerson } from './store/carry-out.postgres.ts';
import { createChangeRecord, type ChangeRecord } from './store/change-record.postgres.ts';
import { createDirectoryStore } from './store/store.postgres.ts';
import type { AdminStore, DirectoryStore } from './store/store.ts';
import type { UserCalls } from './calls/user-calls.ts';

/** The schema `directory`; run it before the service is built. */
export const migrations: Migrations = {
  schema: 'directory',
  directory: new URL('../sql/', import.meta.url),
};

/**
 * Memory of hashes that are dearer than ours, at once, in KiB: what the dearest that is accepted takes. Ours take 19
 * MiB each besides.
 */
const dearHashKib = 128 * 1024;

/** Sign-ins that may wait per running hash: about a second of hashing. */
const queuePerHash = 25;

/** Some seventy a second, each within the deadline of a call. */
const refusals = { afterMs: 400, apartMs: 10 };

/** Sign-ins of one account that may run or wait at once; more are never needed. */
const signInsPerAccount = 16;

/** What records need of the room of people, which imports this one: it is handed in. */
export interface OfPeople {
  readonly sendsMail: boolean;
  /** Throws FailedPrecondition if no link can be mailed to somebody with this e-mail address. */
  requireMail(email: string): void;
  readonly announce: AnnounceToPerson;
  readonly forgetPeople: ForgetPeople;
}

/** The records of tenants, and the part of the services that is about them. */
export interface DirectoryRoom {
  readonly store: DirectoryStore;
  readonly adminStore: AdminStore;
  readonly changeRecord: ChangeRecord;
  readonly passwords: Passwords;
  readonly pepper: KeyObject;
  readonly providerSecrets: ProviderSecrets;
  readonly newUserId: () => string;
  /** To be called after each commit. */
  readonly onChange: () => void;
  /** The calls of records in the services that both rooms answer. */
  readonly calls: {
    readonly directory: RecordReads;
    /** Loaded with the first call. */
    readonly users: () => Promise<UserCalls>;
  };
  /** The services of records alone. */
  readonly routes: readonly Route[];
  ready(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Compares the pepper with that of the database, and records none. Throws `needsOperator` if it is another one.
 */
export async function requirePepper(
  config: DirectoryConfig,
  { database, log }: Pick<Runtime, 'database' | 'log'>,
): Promise<void> {
  await createPepperCheck(database, pepperOf(config), log).look();
}

export function openDirectory(config: DirectoryConfig, runtime: Runtime, ofPeople: OfPeople): DirectoryRoom {
  const { database, log, random, clock } = runtime;
  const { sendsMail, announce, requireMail, forgetPeople } = ofPeople;
  const pepper = pepperOf(config);
  const store = createDirectoryStore(database);
  const changes = createChangeStore(database);
  const feed = new ChangeFeed(changes, log);
  const secretUses = new SecretUses(store, runtime);
  const secrets = new ClientSecrets(pepper);
  const pepperCheck = createPepperCheck(database, pepper, log);
  const concurrency = hashConcurrency(config, availableParallelism());
  const hashQueue = new HashQueue({
    concurrency,
    queue: concurrency * queuePerHash,
    perAccount: signInsPerAccount,
    dearMemory: dearHashKib,
    refusals,
  });
  const passwords = new Passwords({ hashQueue, random });
  const planning = { clock, random, announce, sharedIssuer: config.TESSERA_ISSUER };
  const adminStore = createAdminStore(database, planning);
  const changeRecord = createChangeRecord(database, planning);
  const purge = startPurge(
    { purge: (limit) => purgeDeleted(database, limit, forgetPeople) },
    { what: 'deleted records', log },
  );
  const builtIn = {
    store,
    operatorTenant: config.TESSERA_OPERATOR_TENANT,
    commandLineLogin: config.TESSERA_CLI_LOGIN,
    console: {
      url: config.TESSERA_CONSOLE_URL,
      secret: config.TESSERA_CONSOLE_SECRET,
      identity: parseConsoleIdentity(config.TESSERA_CONSOLE_IDENTITY ?? ''),
      policy: config.TESSERA_CONSOLE_LOGIN,
    },
  };
  const assertions = openAssertions(config, runtime, builtIn);
  const providerSecrets = createProviderSecrets(pepper);
  const declaredTotps = createDeclaredTotps(pepper);
  const newUserId = () => opaqueValue(userIdPrefix, random, 16);
  const onChange = () => feed.poke();
  const changing = {
    database,
    store: adminStore,
    changeRecord,
    directoryStore: store,
    secrets,
    providerSecrets,
    declaredTotps,
    pepperCheck,
    passwords,
    passwordMinLength: config.TESSERA_PASSWORD_MIN_LENGTH,
    pepper,
    sharedIssuer: config.TESSERA_ISSUER,
    operatorTenant: config.TESSERA_OPERATOR_TENANT,
    newUserId,
    newSecret: () => opaqueValue('', random),
    requireMail,
    onChange,
  };
  const { routes, users } = recordRoutes(changing);
  return {
    store,
    adminStore,
    changeRecord,
    passwords,
    pepper,
    providerSecrets,
    newUserId,
    onChange,
    calls: {
      directory: directoryHandlers({
        ...builtIn,
        changes,
        feed,
        secrets,
        pepperCheck,
        verifyAssertion: assertions.verify,
        secretUses,
        passwordMinLength: config.TESSERA_PASSWORD_MIN_LENGTH,
        sendsMail,
      }),
      users,
    },
    routes: [...routes, auditRoute(database, 'directory')],
    async ready() {
      await pepperCheck.require();
      await database.query({
        name: 'directory.ready',
        text: 'SELECT tenant_id FROM directory.tenant LIMIT 0',
      });
    },
    async close() {
      await purge.close();
      await assertions.close();
      await feed.close();
      await secretUses.close();
    },
  };
}
