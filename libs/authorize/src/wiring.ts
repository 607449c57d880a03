import { ChangeFeed, createLimiter, startPurge } from '@tessera/stores';
import { createAuditBatch } from '@tessera/audit';
import { route } from '@tessera/rpc';
import type { BuiltService, Client } from '@tessera/rpc';
import { refuseWhileClockIsWrong, type Runtime } from '@tessera/process';
import type { Migrations } from '@tessera/stores';
import { createDirectoryClient } from '@tessera/directory-client';
import type { DirectoryClient } from '@tessera/directory-client';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { createAuthorizeAudit } from './audit.ts';
import type { AuthorizeAudit } from './audit.ts';
import { createCodes } from './authorization/codes.ts';
import type { AuthorizeConfig } from './config.ts';
import { createDispatcher } from './interaction/dispatcher.ts';
import { createVisits } from './interaction/visits.ts';
import { createGuessLimits } from './methods/guess-limits.ts';
import type { SignInLimits } from './methods/guess-limits.ts';
import { createKnownBrowserCounters } from './methods/known-browsers.ts';
import { createSteps } from './methods/steps.ts';
import { createLogout } from './sessions/logout.ts';
import { authorizeHandlers } from './service.ts';
import type { AuthorizeParts } from './service.ts';
import { createSessionEndStore } from './store/session-ends.postgres.ts';
import type { SessionEnd, SessionEndStore } from './store/session-ends.postgres.ts';
import { createLogoutNoticeStore } from './store/logout-notices.postgres.ts';
import type { LogoutNoticeStore } from './store/logout-notices.ts';
import { createKnownBrowserStore } from './store/known-browsers.postgres.ts';
import type { KnownBrowserStore } from './store/known-browsers.postgres.ts';
import { startInvalidation } from './sessions/invalidation.ts';
import { createSessions } from './sessions/sessions.ts';
import type { SessionStore } from './store/store.ts';
import { longestCodeLifetimeSeconds } from './store/store.ts';
import { createMemoryCodeStore, createMemoryVisitStore } from './store/store.memory.ts';
import { createSessionStore } from './store/store.postgres.ts';
import { createRedisCodeStore, createRedisVisitStore } from './store/store.redis.ts';

/** The schema `authorize`; run it before the service is built. */
export const migrations: Migrations = {
  schema: 'authorize',
  directory: new URL('../sql/', import.meta.url),
};

export interface AuthorizePeers {
  readonly directory: Client<typeof DirectoryService>;
}

/** Builds the authorize service, which watches the directory and removes old sessions from then on. `stepsOf` makes the table of steps. */
export function buildAuthorize(
  config: AuthorizeConfig,
  peers: AuthorizePeers,
  runtime: Runtime,
  stepsOf: typeof createSteps = createSteps,
): BuiltService {
  const { database, redis, log } = runtime;
  const batch = createAuditBatch({ database, schema: 'authorize', runtime });
  const sessionStore = createSessionStore(database);
  const notices = createLogoutNoticeStore(database);
  const endStore = createSessionEndStore(database);
  const knownBrowsers = createKnownBrowserStore(database);
  const sessionEnds = new ChangeFeed(endStore, log);
  const purge = startPurge(sessionStore, { what: 'sessions', log });
  const purgeEnds = startPurge(endStore, { what: 'ends of sessions', log });
  const purgeKnown = startPurge(knownBrowsers, { what: 'known browsers', log });
  const purgeNotices = startPurge(notices, { what: 'logout notices', log });
  const audit = createAuthorizeAudit(batch, runtime);
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
  const stores = { sessionStore, sessionEnds, endStore, knownBrowsers, notices };
  const parts = assemble({ config, peers, runtime, directory, ...stores, audit, stepsOf });
  const built: BuiltService = {
    name: 'authorize',
    routes: [route(AuthorizeService, authorizeHandlers(parts))],
    async ready() {
      await database.query({
        name: 'authorize.ready',
        text: 'SELECT session_id FROM authorize.session LIMIT 0',
      });
      await redis?.call('PING');
    },
    async close() {
      await Promise.all([directory, invalidation].map((part) => part.close()));
      const parts = [purge, purgeEnds, purgeKnown, purgeNotices, sessionEnds];
      await Promise.all(parts.map((part) => part.close()));
      await batch.close();
    },
  };
  return refuseWhileClockIsWrong(built, runtime);
}

function assemble(given: {
  readonly config: AuthorizeConfig;
  readonly peers: AuthorizePeers;
  readonly runtime: Runtime;
  readonly directory: DirectoryClient;
  readonly sessionStore: SessionStore;
  readonly sessionEnds: ChangeFeed<SessionEnd>;
  readonly endStore: SessionEndStore;
  readonly knownBrowsers: KnownBrowserStore;
  readonly notices: LogoutNoticeStore;
  readonly audit: AuthorizeAudit;
  readonly stepsOf: typeof createSteps;
}): AuthorizeParts {
  const { config, peers, runtime, directory, sessionStore, sessionEnds, endStore, knownBrowsers, audit } =
    given;
  const { clock, random, log, redis, failpoint } = runtime;
  const codeStore = redis === undefined ? createMemoryCodeStore(clock) : createRedisCodeStore(redis);
  const quota = config.TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS;
  const visitStore =
    redis === undefined ? createMemoryVisitStore(clock, quota) : createRedisVisitStore(redis, quota);
  const lifetimes = {
    session: config.TESSERA_SESSION_TTL,
    idle: config.TESSERA_SESSION_IDLE_TTL,
    code: longestCodeLifetimeSeconds,
  };
  const sessions = createSessions({
    store: sessionStore,
    codes: codeStore,
    directory,
    audit,
    random,
    lifetimes,
  });
  const visits = createVisits({
    store: visitStore,
    random,
    lifetimeSeconds: config.TESSERA_AUTHORIZATION_REQUEST_TTL,
    answerSeconds: config.TESSERA_AUTHORIZATION_CODE_TTL,
  });
  const lifetimeSeconds = config.TESSERA_AUTHORIZATION_CODE_TTL;
  const codes = createCodes({
    store: codeStore,
    sessions: sessionStore,
    audit,
    random,
    failpoint,
    lifetimeSeconds,
  });
  const limitGuesses = createGuessLimits({
    ownCounter: createKnownBrowserCounters(knownBrowsers),
    limiter: createLimiter({ redis, clock, log, prefix: 'authorize' }),
    limits: limitsOf(config),
    audit,
  });
  const steps = given.stepsOf({ directoryService: peers.directory, directory, limitGuesses });
  const ignoreUnknownScopes = config.TESSERA_UNKNOWN_SCOPES === 'ignore';
  return {
    dispatcher: createDispatcher({ steps, directory, sessions, visits, codes, audit, ignoreUnknownScopes }),
    logout: createLogout({ directory, sessions, audit }),
    sessions,
    codes,
    directory,
    sessionEnds,
    endStore,
    notices: given.notices,
    audit,
  };
}

function limitsOf(config: AuthorizeConfig): SignInLimits {
  const windowSeconds = config.TESSERA_LOGIN_FAILURES_WINDOW;
  return {
    account: { name: 'sign-in.account', limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT, windowSeconds },
    person: { name: 'sign-in.person', limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT, windowSeconds },
    knownBrowser: {
      name: 'sign-in.known-browser',
      limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT,
      windowSeconds,
    },
    accountTotal: { name: 'sign-in.account-total', limit: config.TESSERA_LOGINS_PER_ACCOUNT, windowSeconds },
    addressTotal: { name: 'sign-in.address-total', limit: config.TESSERA_LOGINS_PER_ADDRESS, windowSeconds },
    address: { name: 'sign-in.address', limit: config.TESSERA_LOGIN_FAILURES_PER_ADDRESS, windowSeconds },
  };
}
