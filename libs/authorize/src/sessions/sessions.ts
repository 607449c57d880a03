import type { Random } from '@tessera/kit';
import type { AuthorizeAudit } from '../audit.ts';
import type { Browser, Visit } from '../browser.ts';
import type { Verified } from '../sign-in/password-check.ts';
import { newSessionIdentity, sessionTokenHash } from './session.ts';
import type {
  CodeStore,
  EndedSession,
  NewSessionRecord,
  Session,
  SessionEnd,
  SessionStore,
} from '../store/store.ts';

export interface OpenedSession {
  readonly session: Session;
  /** Value for the cookie. */
  readonly sessionToken: string;
  /** Seconds until the absolute end. */
  readonly maxAge: number;
  /** Another person's, which the browser had, ended now or lately. */
  readonly ended: EndedSession | undefined;
}

/** The sessions of browsers: durable, so that a restart or a lost Redis signs nobody out and revives nobody. */
export interface Sessions {
  /** The living session of this browser. */
  find(browser: Browser): Promise<Session | undefined>;
  /**
   * Signs a person in: always a new session with a new cookie value and a new `sid` (ASVS 7.2.4), also when the same
   * person signs in again. The session the browser had is ended in the same commit. Its codes go on where the same
   * person signed in again: what they did in another tab still holds, until they sign out. Another person's are forgotten
   * as at a logout.
   */
  open(
    visit: Visit,
    verified: Verified,
    clientId: string,
    replaced: Session | undefined,
  ): Promise<OpenedSession>;
  /** Ends a session that never reached the browser. */
  abandon(visit: Visit, session: Session): Promise<void>;
  /**
   * Signs the browser out and forgets the codes of its session. Answers the session it had, alive or not.
   * May be repeated after a failure: a session that had ended still loses its codes.
   */
  logout(visit: Visit): Promise<{ readonly session: EndedSession; readonly ended: boolean } | undefined>;
}

export function createSessions(deps: {
  readonly store: SessionStore;
  readonly codes: Pick<CodeStore, 'dropSession' | 'followSession'>;
  readonly audit: AuthorizeAudit;
  readonly random: Random;
  readonly lifetimes: { readonly session: number; readonly idle: number; readonly code: number };
}): Sessions {
  const { store, codes, audit, random, lifetimes } = deps;

  function ending(visit: Visit, session: Session, reason: SessionEnd) {
    return { sessionId: session.sessionId, reason, audit: audit.sessionEnded(visit, session, reason) };
  }

  return {
    async find({ sessionToken }) {
      const tokenHash = sessionTokenHash(sessionToken);
      return tokenHash === undefined ? undefined : store.find(tokenHash, lifetimes.idle);
    },

    async open(visit, { user, signedInAt }, clientId, replaced) {
      const { sessionToken, sessionId } = newSessionIdentity(random);
      const record: NewSessionRecord = {
        sessionId,
        tokenHash: requiredHash(sessionToken),
        tenantId: user.tenantId,
        userId: user.userId,
        signedInAt,
        lifetimeSeconds: lifetimes.session,
        ipAddress: visit.browser.ipAddress,
        userAgentHash: visit.browser.userAgentHash,
        previousTokenHash: sessionTokenHash(visit.browser.sessionToken),
      };
      // Before the commit: trouble with the store of codes leaves a sign-in that can be tried again.
      if (replaced?.userId === user.userId) {
        await codes.followSession(replaced.sessionId, sessionId, lifetimes.code);
      } else if (replaced !== undefined) await codes.dropSession(replaced.sessionId, lifetimes.code);
      const { session, over } = await store.open(
        record,
        audit.signedIn(visit, record, clientId),
        replaced === undefined ? undefined : ending(visit, replaced, 'replaced'),
      );
      return { session, sessionToken, maxAge: Math.floor(lifetimes.session), ended: over };
    },

    async abandon(visit, session) {
      await store.end(ending(visit, session, 'abandoned'));
    },

    async logout(visit) {
      const tokenHash = sessionTokenHash(visit.browser.sessionToken);
      const session = tokenHash === undefined ? undefined : await store.identify(tokenHash);
      if (session === undefined) return undefined;
      const ended = await store.end(ending(visit, session, 'logout'));
      await codes.dropSession(session.sessionId, lifetimes.code);
      return { session, ended };
    },
  };
}

function requiredHash(sessionToken: string): Buffer {
  const tokenHash = sessionTokenHash(sessionToken);
  if (tokenHash === undefined) throw new Error('a new session token has the wrong form');
  return tokenHash;
}
