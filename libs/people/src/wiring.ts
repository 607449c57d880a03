import { openDirectory, pepperOf } from '@tessera/directory';
import { type Runtime } from '@tessera/process';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { BootstrapService, DirectoryService } from '@tessera/proto-gen/directory';
import { PersonService } from '@tessera/proto-gen/person';
import { route, routeWhenCalled, type BuiltService } from '@tessera/rpc';
import { startPurge } from '@tessera/stores';
import { createEmailChanges } from './account/email-changes.ts';
import { forgetPeople } from './account/forget-people.ts';
import type { DirectoryProcessConfig } from './config.ts';
import { createProviderSignIn } from './identity/provider-sign-in.ts';
import { createPasskeyLinks } from './links/passkey-links.ts';
import { createPasswordLinks } from './links/password-links.ts';
import { createResetRequests } from './links/reset-requests.ts';
import { createAnnounce } from './mail/announce.ts';
import { usualPace, type MailPace } from './mail/mail-worker.ts';
import { requireMail } from './mail/no-mail.ts';
import { openMail, smtpRoute, type MailRoute } from './mail/open-mail.ts';
import { createOutbox } from './mail/outbox.ts';
import { createMethods } from './methods.ts';
import { purgeOneTimeValues } from './one-time/one-time-values.postgres.ts';
import { createChangePassword } from './password/change-password.ts';
import { createPasswordSignIn } from './password/password-sign-in.ts';
import { createRegistration } from './registration/registration.ts';
import { peopleCalls } from './service.ts';

export interface DirectoryOptions {
  /** In place of the SMTP server of the settings. */
  readonly mailRoute?: MailRoute | undefined;
  /** Where links lead that administrators get, unless TESSERA_ISSUER says it: the address of this process. */
  readonly address?: string | undefined;
  /** Shorter pauses, for tests. */
  readonly mailPace?: MailPace;
  /** In place of `usualMailsPerHour`, for tests. */
  readonly mailsPerHour?: number | undefined;
}

/**
 * Mails that people may ask for, to one address in an hour: enough for a person who lost one, too few to flood an
 * inbox.
 */
const usualMailsPerHour = 5;

/** The process `directory`: the room of records and that of people, and the services that both answer. */
export function buildDirectory(
  config: DirectoryProcessConfig,
  _peers: Record<string, never>,
  runtime: Runtime,
  {
    mailRoute = smtpRoute(config),
    mailPace = usualPace,
    mailsPerHour = usualMailsPerHour,
    address,
  }: DirectoryOptions = {},
): BuiltService {
  const { database, log, random, clock } = runtime;
  const pepper = pepperOf(config);
  const outbox = mailRoute && createOutbox({ pepper, random, mailsPerHour });
  const sendsMail = outbox !== undefined;
  const announce = createAnnounce(outbox);
  const records = openDirectory(config, runtime, {
    sendsMail,
    requireMail: (email) => requireMail(outbox, email),
    announce,
    forgetPeople,
  });
  const { store, changeRecord, passwords, newUserId, onChange } = records;
  const mail = mailRoute && outbox && openMail(config, mailRoute, { runtime, store, outbox, pace: mailPace });
  const passwordMinLength = config.TESSERA_PASSWORD_MIN_LENGTH;
  const sharedIssuer = config.TESSERA_ISSUER;
  const setting = { database, clock, random, passwords, passwordMinLength, announce, onChange };
  const signIns = createPasswordSignIn({ store, admin: records.adminStore, passwords, pepper, log });
  const links = createPasswordLinks({ ...setting, outbox });
  const purge = startPurge(
    { purge: (limit) => purgeOneTimeValues(database, limit) },
    { what: 'one-time values', log },
  );
  const delaySeconds = mailPace.requestDelay;
  const resetRequests =
    outbox && createResetRequests({ database, clock, random, outbox, links, delaySeconds });
  const emailChanges =
    outbox && createEmailChanges({ database, store, changeRecord, outbox, announce, runtime, onChange });
  const registration =
    outbox &&
    createRegistration({ ...setting, changeRecord, links, outbox, runtime, newUserId, delaySeconds });
  const methods = createMethods({ ...setting, store, pepper, outbox, delaySeconds });
  mail?.start(
    {
      ...(resetRequests && { 'reset-request': resetRequests.answer }),
      ...(registration && { 'registration-request': registration.answer }),
      ...methods.requests,
    },
    methods.letters,
  );
  const passkeyLinks = createPasskeyLinks({ ...setting, registration, pepper, sharedIssuer });
  const changePassword = createChangePassword({ ...setting, store });
  const changing = { database, store, changeRecord, runtime, newUserId, onChange };
  const providerSignIn = createProviderSignIn(changing);
  const linkBase = sharedIssuer ?? address;
  const operatorTenant = config.TESSERA_OPERATOR_TENANT;
  return {
    name: 'directory',
    routes: [
      route(DirectoryService, {
        ...records.calls.directory,
        ...peopleCalls({
          database,
          signIns,
          changePassword,
          links,
          passkeyLinks,
          resetRequests,
          emailChanges,
          registration,
          methods,
          providerSecrets: records.providerSecrets,
          providerSignIn,
        }),
      }),
      routeWhenCalled(PersonService, async () => {
        const { personCalls } = await import('./account/person-calls.ts');
        return personCalls({ ...setting, changeRecord, outbox, pepper });
      }),
      routeWhenCalled(BootstrapService, async () => {
        const { bootstrapCalls } = await import('./bootstrap/bootstrap-calls.ts');
        return bootstrapCalls({ ...setting, changeRecord, links, linkBase, operatorTenant, newUserId });
      }),
      routeWhenCalled(UsersService, async () => {
        const { administeredPeople } = await import('./account/administered/administered-people.ts');
        return {
          ...(await records.calls.users()),
          ...administeredPeople({ ...setting, sendsMail, links, linkBase }),
        };
      }),
      routeWhenCalled(MailService, async () => {
        const { outboxCalls } = await import('./mail/outbox-calls.ts');
        return outboxCalls(setting);
      }),
      ...records.routes,
    ],
    ready: () => records.ready(),
    async close() {
      await mail?.close();
      await purge.close();
      await signIns.close();
      await records.close();
    },
  };
}
