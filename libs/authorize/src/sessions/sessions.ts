import { hash } from 'node:crypto';
import type { EventBase } from '@tessera/audit';
import type { DirectoryClient } from '@tessera/directory-client';
import { opaqueValue } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import type { Queryable } from '@tessera/stores';
import type { AuthorizeAudit } from '../audit.ts';
import { knownBrowserHash } from '../browser-call.ts';
import type { Browser, BrowserCall } from '../browser-call.ts';
import { knownBrowserLifetimeDays } from '../store/known-browsers.postgres.ts';
import type { CodeStore } from '../store/visit-store.ts';
import type {
  EndedSession,
  EndingSession,
  IdentifiedSession,
  NewSessionRecord,
  Session,
  SessionEndReason,
  SessionId,
  SessionStore,
} from '../store/session-store.ts';
import type { EndedUpstream, UpstreamSessions } from '../store/upstream-sessions.postgres.ts';

const tokenShape = /^ts_[A-Za-z0-9_-]{43}$/;

export interface OpenedSession {
  readonly session: Session;
  /** Value for the cookie. */
  readonly sessionToken: string;
  /** Seconds until the absolute end. */
  readonly maxAge: number;
  /** Value for the known-browser cookie, and the seconds that it lasts. */
  readonly knownBrowser: { readonly token: string; readonly maxAge: number };
  /** The session of another person that the browser had, if it ended now or recently. */
  readonly ended: EndedSession | undefined;
}

/** Who signed in, and how. */
export type SignIn = Pick<NewSessionRecord, 'tenantId' | 'userId' | 'signedInAt' | 'methods' | 'upstream'>;

type SessionOfUser = Pick<Session, 'sessionId' | 'tenantId' | 'userId'>;

/** The sessions of browsers. They are durable: a restart or a lost Redis neither ends nor revives one. */
export interface Sessions {
  /**
   * The live session of this browser at the issuer that it sees; a session of another issuer, whose cookie was renamed,
   * is none.
   */
  find(from: BrowserCall): Promise<Session | undefined>;
  /**
   * Signs a person in: always a new session with a new cookie value and a new `sid` (ASVS 7.2.4), even when the same
   * person signs in again. The same commit ends the session that the browser had. If it belonged to the same person,
   * its codes stay valid until they sign out, for their other tabs; another person's codes are dropped as at a logout.
   */
  open(
    from: BrowserCall,
    signIn: SignIn,
    clientId: string,
    replaced: Session | undefined,
  ): Promise<OpenedSession>;
  /** Ends a session that never reached the browser. */
  abandon(from: BrowserCall, session: SessionOfUser): Promise<void>;
  /**
   * Signs the browser out and drops the codes of its session. Returns the session it had at this issuer, live or ended.
   * Can be repeated after a failure: an ended session still loses its codes.
   */
  logout(
    from: BrowserCall,
  ): Promise<{ readonly session: IdentifiedSession; readonly ended: boolean } | undefined>;
  /**
   * As `logout`, of all that were made with what a provider says is over; undefined, without an effect, unless
   * `isFirst`.
   */
  endUpstream(
    by: EventBase & { readonly requestId: string },
    over: EndedUpstream,
    isFirst: (tx: Queryable) => Promise<boolean>,
  ): Promise<EndedSession[] | undefined>;
  /** As `logout`, in another browser; undefined for a session that is not this person's. */
  endElsewhere(
    from: BrowserCall,
    person: Pick<Session, 'tenantId' | 'userId'>,
    sessionId: string,
  ): Promise<EndedSession | undefined>;
  /** As `logout`, by an administrator or an application; undefined for a session that is not of the tenant. */
  endFor(
    by: EventBase,
    session: SessionId,
    reason?: 'administrator' | 'application',
  ): Promise<EndedSession | undefined>;
}

interface SessionsDeps {
  readonly store: SessionStore;
  readonly upstreamSessions: UpstreamSessions;
  readonly codes: Pick<CodeStore, 'dropSession' | 'followSession'>;
  readonly directory: Pick<DirectoryClient, 'isTenantServedAt'>;
  readonly audit: AuthorizeAudit;
  readonly random: Random;
  readonly lifetimes: { readonly session: number; readonly idle: number; readonly code: number };
}

export function createSessions(deps: SessionsDeps): Sessions {
  const { store, codes, directory, audit, random, lifetimes } = deps;

  function ending(from: BrowserCall, session: SessionOfUser, reason: SessionEndReason) {
    const { requestId } = from.call;
    return {
      sessionId: session.sessionId,
      reason,
      requestId,
      audit: audit.sessionEnded(from, session, reason),
    };
  }

  async function ifServedHere<S extends Session>(
    { browser, call }: BrowserCall,
    session: S | undefined,
  ): Promise<S | undefined> {
    if (session === undefined) return undefined;
    return (await directory.isTenantServedAt(session.tenantId, browser, call.onward())) ? session : undefined;
  }

  /**
   * The hash of the browser's cookie if its session, live or ended, is of this issuer: a sign-in is no end of any
   * other.
   */
  async function previousTokenHash(
    from: BrowserCall,
    replaced: Session | undefined,
  ): Promise<Buffer | undefined> {
    const tokenHash = sessionTokenHash(from.browser.sessionToken);
    if (tokenHash === undefined || replaced !== undefined) return tokenHash;
    return (await ifServedHere(from, await store.identify(tokenHash))) && tokenHash;
  }

  return {
    async find(from) {
      const tokenHash = sessionTokenHash(from.browser.sessionToken);
      if (tokenHash === undefined) return undefined;
      return ifServedHere(from, await store.find(tokenHash, lifetimes.idle));
    },

    async open(from, signIn, clientId, replaced) {
      const { sessionToken, sessionId } = newSessionIdentity(random);
      const knownBrowser = knownBrowserOf(from.browser, random);
      const record: NewSessionRecord = {
        ...signIn,
        sessionId,
        tokenHash: required(sessionTokenHash(sessionToken)),
        lifetimeSeconds: lifetimes.session,
        ipAddress: from.browser.ipAddress,
        userAgentHash: from.browser.userAgentHash,
        userAgent: from.browser.userAgent,
        previousTokenHash: await previousTokenHash(from, replaced),
        knownBrowserHash: required(knownBrowserHash(knownBrowser.token)),
      };
      // Before the commit, so that the sign-in can be repeated if the code store fails.
      if (replaced?.userId === signIn.userId) {
        await codes.followSession(replaced.sessionId, sessionId, lifetimes.code);
      } else if (replaced !== undefined) await codes.dropSession(replaced.sessionId, lifetimes.code);
      const { session, over } = await store.open(
        record,
        audit.signedIn(from, record, clientId),
        replaced === undefined ? undefined : ending(from, replaced, 'replaced'),
      );
      return { session, sessionToken, maxAge: Math.floor(lifetimes.session), knownBrowser, ended: over };
    },

    ...endings({ ...deps, ifServedHere, ending }),
  };
}

type Ends = 'abandon' | 'logout' | 'endElsewhere' | 'endFor' | 'endUpstream';

/** The ways in which a session ends, but for a sign-in that replaces it. */
function endings({
  store,
  upstreamSessions,
  codes,
  audit,
  lifetimes,
  ifServedHere,
  ending,
}: Pick<SessionsDeps, 'store' | 'upstreamSessions' | 'codes' | 'audit' | 'lifetimes'> & {
  readonly ifServedHere: <S extends Session>(
    from: BrowserCall,
    session: S | undefined,
  ) => Promise<S | undefined>;
  readonly ending: (from: BrowserCall, session: SessionOfUser, reason: SessionEndReason) => EndingSession;
}): Pick<Sessions, Ends> {
  /** Ends a session with its codes, which it loses if it had ended before, too. */
  async function end(session: EndingSession): Promise<boolean> {
    const ended = await store.end(session);
    await codes.dropSession(session.sessionId, lifetimes.code);
    return ended;
  }

  return {
    async abandon(from, session) {
      await store.end(ending(from, session, 'abandoned'));
    },

    async logout(from) {
      const tokenHash = sessionTokenHash(from.browser.sessionToken);
      const found = tokenHash === undefined ? undefined : await store.identify(tokenHash);
      const session = await ifServedHere(from, found);
      if (session === undefined) return undefined;
      return { session, ended: await end(ending(from, session, 'logout')) };
    },

    async endElsewhere(from, { tenantId, userId }, sessionId) {
      const session = await store.identify({ tenantId, sessionId });
      if (session?.userId !== userId) return undefined;
      await end(ending(from, session, 'elsewhere'));
      return session;
    },

    endUpstream: async (by, over, isFirst) =>
      upstreamSessions.end(over, {
        isFirst,
        ending: (session) => ({
          sessionId: session.sessionId,
          reason: 'provider',
          requestId: by.requestId,
          audit: audit.sessionEndedBy(by, session, 'provider'),
        }),
        // So that no code is left if the code store fails.
        before: async ({ sessionId }) => codes.dropSession(sessionId, lifetimes.code),
      }),

    async endFor(by, id, reason = 'administrator') {
      const session = await store.identify(id);
      if (session === undefined) return undefined;
      const row = audit.sessionEndedBy(by, session, reason);
      const { requestId = '' } = by;
      await end({ sessionId: session.sessionId, reason, requestId, audit: row });
      return session;
    },
  };
}

/** The key of a session cookie's value; undefined for a malformed one, so that no store is asked for it. */
function sessionTokenHash(sessionToken: string): Buffer | undefined {
  return tokenShape.test(sessionToken) ? hash('sha256', sessionToken, 'buffer') : undefined;
}

/** A new cookie value and, unrelated to it, a new `sid` (OIDC Front-Channel Logout §3). */
function newSessionIdentity(random: Random): { sessionToken: string; sessionId: string } {
  return {
    sessionToken: opaqueValue('ts_', random),
    sessionId: random.bytes(16).toString('base64url'),
  };
}

/** A browser keeps its value for every person who signs in there; it gets one with its first sign-in. */
function knownBrowserOf({ knownBrowserToken }: Browser, random: Random): OpenedSession['knownBrowser'] {
  const isKept = knownBrowserHash(knownBrowserToken) !== undefined;
  return {
    token: isKept ? knownBrowserToken : opaqueValue('tk_', random),
    maxAge: knownBrowserLifetimeDays * 86_400,
  };
}

function required(tokenHash: Buffer | undefined): Buffer {
  if (tokenHash === undefined) throw new Error('a new token has the wrong form');
  return tokenHash;
}
