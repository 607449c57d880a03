import { ChangeFeed, createLimiter, startPurge, type Migrations } from '@tessera/stores';
import { auditRoute, createAuditBatch } from '@tessera/audit';
import { limitRepeats } from '@tessera/telemetry';
import { route, routeWhenCalled, type BuiltService, type Client } from '@tessera/rpc';
import { allowsPrivate, refuseWhileClockIsWrong, type Runtime } from '@tessera/process';
import { createDirectoryClient } from '@tessera/directory-client';
import type { DirectoryClient } from '@tessera/directory-client';
import { AccountService } from '@tessera/proto-gen/account';
import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { PersonService } from '@tessera/proto-gen/person';
import { createLinkedProviders } from './account/link-provider.ts';
import { createAuthorizeAudit } from './audit.ts';
import { createCodes } from './codes/codes.ts';
import type { AuthorizeConfig } from './config.ts';
import { createConsentAudit } from './consent/consent-audit.ts';
import { createConsentStore } from './consent/consents.postgres.ts';
import { createSignInNotes } from './interaction/note-sign-in.ts';
import { createConsentCount } from './consent/count-consents.ts';
import { createSelectCounting } from './consent/counting-consents.ts';
import { createTellOfSignIn } from './interaction/tell-of-sign-in.ts';
import { createDispatcher } from './interaction/dispatcher.ts';
import { createVisits } from './visits/visits.ts';
import { createGuessLimits, limitsOf } from './limits/guess-limits.ts';
import { createTellOfWrongCodes } from './limits/tell-of-wrong-codes.ts';
import type { SignInLimits } from './limits/guess-limits.ts';
import { createKnownBrowserCounters } from './limits/known-browsers.ts';
import { createLockOf } from './limits/person-lock.ts';
import { createChangeOwnPassword } from './methods/password/own-password.ts';
import { createSteps } from './interaction/step-table.ts';
import { createAnswerFromProvider } from './interaction/answer-from-provider.ts';
import { createUpstream } from './methods/upstream/upstream.ts';
import { createLogout } from './logout/end-session.ts';
import { authorizeHandlers } from './service.ts';
import { createSessionEndStore } from './store/session-ends.postgres.ts';
import { createLogoutNoticeStore } from './store/logout-notices.postgres.ts';
import { createKnownBrowserStore } from './store/known-browsers.postgres.ts';
import { startInvalidation } from './sessions/invalidation.ts';
import { createSessionCount } from './sessions/count-sessions.ts';
import { createPresentPerson } from './interaction/present-person.ts';
import { createEndProviderSessions, createSignOutAtProvider } from './logout/provider-logout.ts';
import { createSessions } from './sessions/sessions.ts';
import { createSessionsOfGrants } from './sessions/sessions-of-grants.ts';
import { createCheckedSessionStore } from './store/checked-sessions.postgres.ts';
import { longestCodeLifetimeSeconds } from './store/visit-store.ts';
import { createSessionStore } from './store/session-store.postgres.ts';
import { createUpstreamSessions } from './store/upstream-sessions.postgres.ts';
import { createRedisCodeStore } from './store/code-store.redis.ts';
import { createMemoryCodeStore, createMemoryVisitStore } from './store/store.memory.ts';
import { createRedisVisitStore } from './store/visit-store.redis.ts';

/** The schema `authorize`; run it before the service is built. */
export const migrations: Migrations = {
  schema: 'authorize',
  directory: new URL('../sql/', import.meta.url),
};

export interface AuthorizePeers {
  readonly directory: Client<typeof DirectoryService>;
  readonly person: Client<typeof PersonService>;
}

interface AuthorizeOptions {
  /** Makes the table of steps. */
  readonly stepsOf?: typeof createSteps;
  /** In place of those that follow from the settings, for tests. */
  readonly limits?: SignInLimits;
}

/** Builds the authorize service, which watches the directory and removes old sessions from then on. */
export function buildAuthorize(
  config: AuthorizeConfig,
  peers: AuthorizePeers,
  runtime: Runtime,
  { stepsOf = createSteps, limits = limitsOf(config) }: AuthorizeOptions = {},
): BuiltService {
  const { database, redis, clock, random, log, failpoint } = runtime;
  const batch = createAuditBatch({ database, schema: 'authorize', runtime });
  const audit = createAuthorizeAudit(batch, runtime);

  const sessionStore = createSessionStore(database);
  const notices = createLogoutNoticeStore(database);
  const endStore = createSessionEndStore(database);
  const knownBrowsers = createKnownBrowserStore(database);
  const upstream = createUpstream({
    directoryService: peers.directory,
    runtime,
    batch,
    allowPrivate: allowsPrivate(config, 'providers'),
    visitSeconds: config.TESSERA_AUTHORIZATION_REQUEST_TTL,
  });
  const { visitStore, codeStore } = openVisitsAndCodes(
    runtime,
    config.TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS,
  );
  const sessionEnds = new ChangeFeed(endStore, log);
  const purges = [
    startPurge(sessionStore, { what: 'sessions', log }),
    startPurge(endStore, { what: 'ends of sessions', log }),
    startPurge(knownBrowsers, { what: 'known browsers', log }),
    startPurge(notices, { what: 'logout notices', log }),
    startPurge(upstream.usedValues, { what: 'used values', log }),
  ];

  const directory: DirectoryClient = createDirectoryClient({
    directory: peers.directory,
    runtime,
    onChange: (change) => invalidation.changed(change),
    onGap: () => invalidation.missed(),
  });
  const invalidation = startInvalidation({
    sessions: sessionStore,
    directory,
    audit,
    onEnd: () => sessionEnds.poke(),
    log,
  });

  const sessions = createSessions({
    store: sessionStore,
    upstreamSessions: createUpstreamSessions(database),
    codes: codeStore,
    directory,
    audit,
    random,
    lifetimes: {
      session: config.TESSERA_SESSION_TTL,
      idle: config.TESSERA_SESSION_IDLE_TTL,
      code: longestCodeLifetimeSeconds,
    },
  });
  const visits = createVisits({
    store: visitStore,
    random,
    lifetimeSeconds: config.TESSERA_AUTHORIZATION_REQUEST_TTL,
    answerSeconds: config.TESSERA_AUTHORIZATION_CODE_TTL,
  });
  const codes = createCodes({
    store: codeStore,
    sessions: sessionStore,
    audit,
    random,
    failpoint,
    lifetimeSeconds: config.TESSERA_AUTHORIZATION_CODE_TTL,
  });
  const limiter = createLimiter({ redis, clock, log, prefix: 'authorize' });
  const limitGuesses = createGuessLimits({
    ownCounter: createKnownBrowserCounters(knownBrowsers),
    limiter,
    limits,
    tellOfWrongCodes: createTellOfWrongCodes({ limiter, personService: peers.person, log }),
    audit,
  });
  const steps = stepsOf({
    directoryService: peers.directory,
    directory,
    limitGuesses,
    sharedIssuer: config.TESSERA_ISSUER,
    random,
    runtime,
    batch,
    upstream,
  });
  const ignoreUnknownScopes = config.TESSERA_UNKNOWN_SCOPES === 'ignore';
  const signInNotes = createSignInNotes({ personService: peers.person, clock, log });
  const dispatcher = createDispatcher({
    steps,
    directory,
    sessions,
    visits,
    codes,
    audit,
    tellOfSignIn: createTellOfSignIn({ knownBrowsers, personService: peers.person }),
    signInNotes,
    random,
    ignoreUnknownScopes,
  });
  const changeOwnPassword = createChangeOwnPassword({
    directoryService: peers.directory,
    directory,
    sessions,
    limitGuesses,
  });
  const signOutAtProvider = createSignOutAtProvider(upstream);
  const logout = createLogout({ directory, sessions, signOutAtProvider, audit });
  const presentPerson = createPresentPerson({ sessions, directory, dispatcher });
  const linkedProviders = createLinkedProviders({
    upstream,
    visits,
    presentPerson,
    personService: peers.person,
    sessions,
    random,
  });
  const consents = createConsentStore(database);
  const ofConsents = { consents, audit: createConsentAudit(batch, runtime) };
  const selectCounting = createSelectCounting(peers.directory);
  const handlers = authorizeHandlers({
    dispatcher,
    answerFromProvider: createAnswerFromProvider({
      visits,
      dispatcher,
      finishLink: linkedProviders.finishLink,
    }),
    logout,
    endProviderSessions: createEndProviderSessions({
      ...upstream,
      directory,
      sessions,
      warnings: limitRepeats(log),
    }),
    changeOwnPassword,
    lockOf: createLockOf({ directoryService: peers.directory, limiter, limits, clock }),
    presentPerson,
    codes,
    sessionsOfGrants: createSessionsOfGrants({
      store: createCheckedSessionStore(database),
      sessions,
      idleSeconds: config.TESSERA_SESSION_IDLE_TTL,
    }),
    sessionEnds,
    endStore,
    notices,
    audit,
    countEndedSessions: createSessionCount({
      sessions: sessionStore,
      directory: peers.directory,
      idleSeconds: config.TESSERA_SESSION_IDLE_TTL,
    }),
    countEndedConsents: createConsentCount({ consents, selectCounting }),
  });
  const built: BuiltService = {
    name: 'authorize',
    routes: [
      route(AuthorizeService, handlers),
      routeWhenCalled(AccountService, async () => {
        const { accountHandlers } = await import('./account/account-calls.ts');
        return accountHandlers({
          presentPerson,
          dispatcher,
          personService: peers.person,
          directoryService: peers.directory,
          directory,
          sharedIssuer: config.TESSERA_ISSUER,
          database,
          store: sessionStore,
          sessions,
          linkedProviders,
          ...ofConsents,
          idleSeconds: config.TESSERA_SESSION_IDLE_TTL,
          onSessionEnd: () => sessionEnds.poke(),
        });
      }),
      auditRoute(database, 'authorize'),
      routeWhenCalled(SessionsService, async () => {
        const { sessionCalls } = await import('./sessions/session-calls.ts');
        const { signInCount } = await import('./sessions/count-sign-ins.postgres.ts');
        return sessionCalls({
          countSignIns: signInCount(database),
          store: sessionStore,
          sessions,
          directory: peers.directory,
          idleSeconds: config.TESSERA_SESSION_IDLE_TTL,
          onEnd: () => sessionEnds.poke(),
        });
      }),
      routeWhenCalled(ConsentsService, async () =>
        (await import('./consent/consent-calls.ts')).consentCalls({ ...ofConsents, selectCounting }),
      ),
    ],
    async ready() {
      await database.query({
        name: 'authorize.ready',
        text: 'SELECT session_id FROM authorize.session LIMIT 0',
      });
      await redis?.call('PING');
    },
    async close() {
      await signInNotes.close();
      await Promise.all([directory.close(), invalidation.close()]);
      await Promise.all([...purges, sessionEnds].map((each) => each.close()));
      await batch.close();
    },
  };
  return refuseWhileClockIsWrong(built, runtime);
}

/**
 * The stores of visits and codes, which belong together: a code may be saved in one step with the end of its visit.
 * @param quota visits of one address
 */
function openVisitsAndCodes({ redis, clock }: Pick<Runtime, 'redis' | 'clock'>, quota: number) {
  if (redis !== undefined)
    return { visitStore: createRedisVisitStore(redis, quota), codeStore: createRedisCodeStore(redis) };
  const visitStore = createMemoryVisitStore(clock, quota);
  return { visitStore, codeStore: createMemoryCodeStore(clock, visitStore) };
}
