import type { DirectoryClient } from '@tessera/directory-client';
import { AccountProblem, type AccountService } from '@tessera/proto-gen/account';
import type { BrowserContext } from '@tessera/proto-gen/authorize';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { PersonService } from '@tessera/proto-gen/person';
import {
  Code,
  ConnectError,
  timestampFromMs,
  type CallContext,
  type Client,
  type Handlers,
} from '@tessera/rpc';
import type { BrowserCall } from '../browser-call.ts';
import type { ConsentAudit } from '../consent/consent-audit.ts';
import { firstConsent, type ConsentStore, type ListedConsent } from '../consent/consents.postgres.ts';
import { consentCounts } from '../consent/counting-consents.ts';
import type { Dispatcher } from '../interaction/dispatcher.ts';
import { browserCallOf, endedMessage, sessionMessage } from '../messages.ts';
import type { FindPresentPerson, PresentPerson } from '../interaction/present-person.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { askingBySession } from '../visits/asking-person.ts';
import type { Database } from '@tessera/stores';
import { acceptedPasskeys } from './accepted-passkeys.ts';
import { recentActivity } from './activity.ts';
import { createPasskeyDomain, type PasskeyDomain } from '../methods/passkey/passkey-domain.ts';
import type { LinkedProviders } from './link-provider.ts';
import { endOthers, liveSessions } from './own-sessions.ts';
import { removeFactor } from './remove-factor.ts';
import type { SessionStore } from '../store/session-store.ts';

export interface AccountDeps {
  readonly presentPerson: FindPresentPerson;
  readonly personService: Client<typeof PersonService>;
  readonly directoryService: Pick<Client<typeof DirectoryService>, 'proposeEmail'>;
  readonly directory: Pick<DirectoryClient, 'application' | 'tenant' | 'user'>;
  /** As in `createPasskeyDomain`. */
  readonly sharedIssuer: string | undefined;
  readonly dispatcher: Pick<Dispatcher, 'isEnough'>;
  readonly database: Pick<Database, 'query'>;
  readonly store: Pick<SessionStore, 'live'>;
  readonly sessions: Pick<Sessions, 'endElsewhere' | 'open'>;
  readonly linkedProviders: Pick<LinkedProviders, 'link' | 'unlink'>;
  readonly consents: Pick<ConsentStore, 'list' | 'revoke'>;
  readonly audit: Pick<ConsentAudit, 'revoked'>;
  readonly idleSeconds: number;
  readonly onSessionEnd: () => void;
}

/** What a person does with what is theirs, or why nothing has changed. */
type Work<T> = (person: PresentPerson, from: BrowserCall) => Promise<T>;

/** What people see and change of themselves. Each call takes the person from the session of the browser. */
export function accountHandlers(deps: AccountDeps): Handlers<typeof AccountService> {
  const { presentPerson, personService, sessions, consents, audit, onSessionEnd } = deps;
  const passkeyDomain = createPasskeyDomain(deps);

  async function asPerson<T>(
    browser: BrowserContext | undefined,
    call: CallContext,
    work: Work<T>,
  ): Promise<T | { problem: AccountProblem }> {
    const from = browserCallOf(browser, call);
    const person = await presentPerson(from);
    return person === undefined ? { problem: AccountProblem.SIGNED_OUT } : work(person, from);
  }

  /** As `asPerson`, for changes that weaken how the person signs in. */
  const asSure = <T>(browser: BrowserContext | undefined, call: CallContext, work: Work<T>) =>
    asPerson<T | { problem: AccountProblem }>(browser, call, async (person, from) => {
      const isSure = await deps.dispatcher.isEnough(from, person.session, 'account_change');
      return isSure ? work(person, from) : { problem: AccountProblem.SIGN_IN_AGAIN };
    });

  return {
    async getAccount({ browser }, call) {
      const from = browserCallOf(browser, call);
      const person = await presentPerson(from);
      return person === undefined
        ? {}
        : { account: await accountOf({ ...deps, passkeyDomain }, person, from) };
    },

    changeName: ({ browser, name }, call) =>
      asPerson(browser, call, async ({ session }, from) => {
        const renamed = { ...askingBySession(from, session), name };
        const { refusal } = await personService.changeOwnName(renamed, call.onward());
        return refusal === '' ? {} : { problem: refusals[refusal] ?? AccountProblem.UNKNOWN };
      }),

    changeEmail: ({ browser, email, language }, call) =>
      asSure(browser, call, async ({ session }, from) => {
        const proposed = { ...askingBySession(from, session), email, language };
        const problem = await problemOf(deps.directoryService.proposeEmail(proposed, call.onward()));
        return problem === undefined ? {} : { problem };
      }),

    closeAccount: ({ browser }, call) =>
      asSure(browser, call, async ({ session }, from) => {
        const closed = askingBySession(from, session);
        const { refusal } = await personService.closeOwnAccount(closed, call.onward());
        return refusal === '' ? {} : { problem: refusals[refusal] ?? AccountProblem.UNKNOWN };
      }),

    renamePasskey: ({ browser, passkeyId: credentialId, name: typed }, call) =>
      asPerson(browser, call, async ({ session }, from) => {
        const name = typed.trim();
        if (name === '' || name.length > longestName) return { problem: AccountProblem.BAD_TEXT };
        const renamed = { ...askingBySession(from, session), credentialId, name };
        const { found } = await personService.renameOwnPasskey(renamed, call.onward());
        return found ? {} : { problem: AccountProblem.UNKNOWN };
      }),

    removeFactor: ({ browser, passkeyId }, call) =>
      asSure(browser, call, async (person, from) => {
        try {
          return await removeFactor(deps, person, from, passkeyId);
        } finally {
          onSessionEnd();
        }
      }),

    linkProvider: ({ browser, ...to }, call) =>
      asSure(browser, call, async (person, from) => deps.linkedProviders.link(from, person, to)),

    unlinkProvider: ({ browser, provider }, call) =>
      asSure(browser, call, async (person, from) => {
        try {
          return await deps.linkedProviders.unlink(from, person, provider);
        } finally {
          onSessionEnd();
        }
      }),

    endOwnSessions: ({ browser, sessionId }, call) =>
      asPerson(browser, call, async (person, from) => {
        try {
          if (sessionId === '') return { sessions: (await endOthers(deps, person, from)).map(endedMessage) };
          const ended = await sessions.endElsewhere(from, person.session, sessionId);
          return ended === undefined
            ? { problem: AccountProblem.UNKNOWN }
            : { sessions: [endedMessage(ended)] };
        } finally {
          onSessionEnd();
        }
      }),

    revokeConsent: ({ browser, clientId }, call) =>
      asPerson(browser, call, async ({ session: { tenantId, userId } }, from) => {
        const consent = { tenantId, userId, clientId };
        const isRevoked = await consents.revoke(consent, audit.revoked(from, consent));
        return isRevoked ? {} : { problem: AccountProblem.UNKNOWN };
      }),
  };
}

/** In characters. */
const longestName = 64;

const refusals: Readonly<Record<string, AccountProblem>> = {
  declared: AccountProblem.READ_ONLY,
  not_allowed: AccountProblem.READ_ONLY,
  text: AccountProblem.BAD_TEXT,
  last_administrator: AccountProblem.LAST_ADMINISTRATOR,
};

const proposals: Readonly<Partial<Record<Code, AccountProblem>>> = {
  [Code.InvalidArgument]: AccountProblem.BAD_TEXT,
  [Code.FailedPrecondition]: AccountProblem.READ_ONLY,
  [Code.NotFound]: AccountProblem.UNKNOWN,
};

/** Why an address is not proposed; undefined if it is. Throws for everything else. */
async function problemOf(proposed: Promise<unknown>): Promise<AccountProblem | undefined> {
  try {
    await proposed;
    return undefined;
  } catch (error) {
    const problem = error instanceof ConnectError ? proposals[error.code] : undefined;
    if (problem === undefined) throw error;
    return problem;
  }
}

async function accountOf(
  deps: AccountDeps & { readonly passkeyDomain: PasskeyDomain },
  person: PresentPerson,
  from: BrowserCall,
) {
  const { call } = from;
  const { user } = person;
  const { tenantId, userId, phoneNumber } = user;
  const [credentials, tenant, live, consents] = await Promise.all([
    deps.personService.getCredentials({ tenantId, userId }, call.onward()),
    deps.directory.tenant(tenantId, call.onward()),
    liveSessions(deps, person, from),
    countingConsents(deps, person, from),
  ]);
  const activities = await recentActivity(deps, { tenantId, userId }, live, call.onward());
  const { name: presentName, email, emailVerified, declared } = credentials;
  const { passkeys, hasTotp, recoveryCodes, providers } = credentials;
  return {
    session: { ...sessionMessage(person), name: presentName },
    email,
    emailVerified,
    declared,
    sendsMail: tenant?.sendsMail === true,
    closable: tenant?.accountClosing === true && !declared,
    signInMethods: [...(tenant?.signInMethods ?? [])],
    phoneNumber,
    acceptedPasskeys: await acceptedPasskeys(deps, from, {
      person: { tenantId, username: user.username, name: presentName, tenantName: tenant?.name ?? '' },
      passkeys,
      userHandle: credentials.userHandle,
    }),
    passkeys: passkeys.map(({ credentialId, name, createTime, lastUseTime, synced }) => ({
      passkeyId: credentialId,
      name,
      createTime,
      lastUseTime,
      synced,
    })),
    hasTotp,
    recoveryCodes,
    sessions: live.map(({ sessionId, userAgent, ipAddress, createdAt, lastSeenAt }) => ({
      sessionId,
      userAgent,
      ipAddress,
      createTime: timestampFromMs(createdAt),
      lastUseTime: timestampFromMs(lastSeenAt),
    })),
    consents: consents.map(({ clientId, scopes, grantedAt }) => ({
      clientId,
      scopes: [...scopes],
      grantTime: timestampFromMs(grantedAt * 1000),
    })),
    activities,
    providers: providers.map(({ name, displayName, linkTime }) => ({ name, displayName, linkTime })),
  };
}

/** A person has few. */
const mostConsents = 1000;

async function countingConsents(
  { consents, directory }: AccountDeps,
  { user }: PresentPerson,
  { call }: BrowserCall,
): Promise<ListedConsent[]> {
  const { tenantId, userId } = user;
  const found = await consents.list({ tenantId, userIds: [userId] }, firstConsent, mostConsents);
  const records = await Promise.all(
    found.map(({ clientId }) => directory.application(clientId, call.onward())),
  );
  return found.filter((consent, at) => consentCounts(records[at], user, consent));
}
