import { auditRoute } from '@tessera/audit';
import { createSecretKey } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { ChangeFeed, startPurge, type Migrations } from '@tessera/stores';
import { opaqueValue } from '@tessera/kit';
import { route, type BuiltService } from '@tessera/rpc';
import { type Runtime } from '@tessera/process';
import { DirectoryAdminService, DirectoryService } from '@tessera/proto-gen/directory';
import { PersonService } from '@tessera/proto-gen/person';
import { createPasskeyLinks } from './links/passkey-links.ts';
import { createPasswordLinks } from './links/password-links.ts';
import { createAdminStore } from './store/admin-store.postgres.ts';
import { createChangeRecord } from './store/change-record.postgres.ts';
import { directoryAdminHandlers } from './admin-service.ts';
import { createChangePassword } from './credentials/change-password.ts';
import { ClientSecrets } from './credentials/client-secrets.ts';
import { decodePepper, hashConcurrency, type DirectoryConfig } from './config.ts';
import { HashQueue } from './ground/hashing/hash-queue.ts';
import { createPasswordSignIn } from './credentials/password-sign-in.ts';
import { Passwords } from './ground/passwords.ts';
import { createUnlock } from './credentials/unlock.postgres.ts';
import { createPepperCheck } from './credentials/pepper-check.ts';
import { SecretUses } from './credentials/secret-uses.ts';
import { purgeDeleted } from './deleted/deleted-records.postgres.ts';
import { personCalls } from './person/person-calls.ts';
import { createAnnounce } from './mail/announce.ts';
import { createEmailChanges } from './email/email-changes.ts';
import { usualPace, type MailPace } from './mail/mail-worker.ts';
import { openMail, smtpRoute, type MailRoute } from './mail/open-mail.ts';
import { createResetRequests } from './mail/reset-requests.ts';
import { createRegistration } from './registration/registration.ts';
import { recordRoutes } from './records/record-routes.ts';
import { createPasskeys } from './passkeys/passkeys.ts';
import { createProviderSecrets } from './providers/provider-secrets.ts';
import { createProviderSignIn } from './providers/provider-sign-in.ts';
import { createSecondFactors } from './second-factors/second-factors.ts';
import { directoryHandlers } from './service.ts';
import { createChangeStore } from './feed/change-store.postgres.ts';
import { createDirectoryStore } from './store/store.postgres.ts';

/** The schema `directory`; run it before the service is built. */
export const migrations: Migrations = {
  schema: 'directory',
  directory: new URL('../sql/', import.meta.url),
};

/** Sign-ins that may wait per running hash: about a second of hashing. */
const queuePerHash = 25;

/** Some seventy a second, each within the deadline of a call. */
const refusals = { afterMs: 400, apartMs: 10 };

/** Sign-ins of one account that may run or wait at once; more are never needed. */
const signInsPerAccount = 16;

export interface DirectoryOptions {
  /** In place of the SMTP server of the settings. */
  readonly mailRoute?: MailRoute | undefined;
  /** Where links lead that administrators get, unless TESSERA_ISSUER says it: the address of this process. */
  readonly address?: string | undefined;
  /** Shorter pauses, for tests. */
  readonly mailPace?: MailPace;
}

export function buildDirectory(
  config: DirectoryConfig,
  _peers: Record<string, never>,
  runtime: Runtime,
  { mailRoute = smtpRoute(config), mailPace = usualPace, address }: DirectoryOptions = {},
): BuiltService {
  const { database, log, random, clock } = runtime;
  const store = createDirectoryStore(database);
  const changes = createChangeStore(database);
  const feed = new ChangeFeed(changes, log);
  const secretUses = new SecretUses(store, runtime);
  const pepper = decodePepper(config.TESSERA_DIRECTORY_PEPPER.reveal());
  if (pepper === undefined) throw new Error('TESSERA_DIRECTORY_PEPPER does not hold 32 bytes.');
  const key = createSecretKey(pepper);
  const secrets = new ClientSecrets(key);
  const pepperCheck = createPepperCheck(database, key, log);
  const concurrency = hashConcurrency(config, availableParallelism());
  const hashQueue = new HashQueue({
    concurrency,
    queue: concurrency * queuePerHash,
    perAccount: signInsPerAccount,
    dearMemory: config.TESSERA_DIRECTORY_HASH_MEMORY * 1024,
    refusals,
  });
  const passwords = new Passwords({ hashQueue, random });
  const mail = mailRoute && openMail(config, mailRoute, { runtime, store, pepper: key, pace: mailPace });
  const outbox = mail?.outbox;
  const announce = createAnnounce(outbox);
  const adminStore = createAdminStore(database, { clock, random, announce });
  const changeRecord = createChangeRecord(database, { clock, random, announce });
  const purge = startPurge(
    { purge: (limit) => purgeDeleted(database, limit) },
    { what: 'deleted records', log },
  );
  const signIns = createPasswordSignIn({ store, admin: adminStore, passwords, pepper: key, log });
  const passwordMinLength = config.TESSERA_PASSWORD_MIN_LENGTH;
  const onChange = () => feed.poke();
  const setting = { database, clock, random, passwords, passwordMinLength, announce, onChange };
  const links = createPasswordLinks({ ...setting, outbox });
  const delaySeconds = mailPace.requestDelay;
  const resetRequests =
    outbox && createResetRequests({ database, clock, random, outbox, links, delaySeconds });
  const emailChanges =
    outbox && createEmailChanges({ database, store, changeRecord, outbox, announce, runtime, onChange });
  const emailLinkPurge = emailChanges && startPurge(emailChanges, { what: 'e-mail links', log });
  const newUserId = () => opaqueValue('usr_', random, 16);
  const registration =
    outbox &&
    createRegistration({ ...setting, changeRecord, links, outbox, runtime, newUserId, delaySeconds });
  const registrationPurge = registration && startPurge(registration, { what: 'registrations', log });
  mail?.start({
    ...(resetRequests && { 'reset-request': resetRequests.answer }),
    ...(registration && { 'registration-request': registration.answer }),
  });
  const passkeyLinks = createPasskeyLinks({
    ...setting,
    registration,
    pepper: key,
    sharedIssuer: config.TESSERA_ISSUER,
  });
  const changePassword = createChangePassword({ ...setting, store });
  const secondFactors = createSecondFactors({ ...setting, store, pepper: key });
  const passkeys = createPasskeys({ ...setting, store, pepper: key });
  const challengePurge = startPurge(passkeys, { what: 'used challenges', log });
  const providerSecrets = createProviderSecrets(key);
  const providerSignIn = createProviderSignIn({
    database,
    store,
    changeRecord,
    runtime,
    newUserId,
    onChange,
  });
  const linkPurge = startPurge(links, { what: 'password links', log });
  const adminDeps = {
    database,
    links,
    secondFactors,
    unlock: createUnlock(setting),
    store: adminStore,
    changeRecord,
    directoryStore: store,
    secrets,
    providerSecrets,
    pepperCheck,
    passwords,
    passwordMinLength,
    pepper: key,
    sharedIssuer: config.TESSERA_ISSUER,
    linkBase: config.TESSERA_ISSUER ?? address,
    operatorTenant: config.TESSERA_OPERATOR_TENANT,
    newUserId,
    newSecret: () => opaqueValue('', random),
    onChange,
  };
  return {
    name: 'directory',
    routes: [
      route(
        DirectoryService,
        directoryHandlers({
          store,
          changes,
          feed,
          secrets,
          pepperCheck,
          secretUses,
          signIns,
          changePassword,
          links,
          passkeyLinks,
          resetRequests,
          emailChanges,
          registration,
          operatorTenant: config.TESSERA_OPERATOR_TENANT,
          commandLineLogin: config.TESSERA_CLI_LOGIN,
          secondFactors,
          passkeys,
          database,
          providerSecrets,
          providerSignIn,
        }),
      ),
      route(PersonService, personCalls({ ...setting, changeRecord, outbox })),
      route(DirectoryAdminService, directoryAdminHandlers(adminDeps)),
      ...recordRoutes(adminDeps),
      auditRoute(database, 'directory'),
    ],
    async ready() {
      await pepperCheck.require();
      await database.query({
        name: 'directory.ready',
        text: 'SELECT tenant_id FROM directory.tenant LIMIT 0',
      });
    },
    async close() {
      await mail?.close();
      await emailLinkPurge?.close();
      await registrationPurge?.close();
      await purge.close();
      await feed.close();
      await linkPurge.close();
      await challengePurge.close();
      await signIns.close();
      await secretUses.close();
    },
  };
}
