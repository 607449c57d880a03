import { boundedCache, opaqueValue, type Clock, type Random, type Secret } from '@tessera/kit';
import type { Configuration } from 'openid-client';

/** A sign-in that a browser has set out for. */
export interface StartedSignIn {
  readonly server: Configuration;
  readonly tenantId: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** A path of the console, where the person wanted to be. */
  readonly returnTo: string;
  /** How long ago the person may have proved who they are, in seconds; undefined without a limit. */
  readonly maxAge: number | undefined;
}

/** An administrator who is signed in. */
export interface ConsoleSession {
  /** Of the person. */
  readonly tenantId: string;
  /** Whether they reach every tenant. */
  readonly everyTenant: boolean;
  readonly userId: string;
  readonly name: string;
  /** The session of their browser at the issuer (`sid`): with it ends this one. */
  readonly sessionId: string;
  /** When they proved who they are, in milliseconds since the Unix epoch. */
  readonly authTime: number;
  readonly accessToken: Secret;
  /** Of the access token, in milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/**
 * The sessions of browsers, in the memory of this process: an access token is written nowhere. The value of the cookie
 * is the key. A sign-in that goes on for longer than ten minutes begins anew.
 */
export interface Sessions {
  /** The session of a cookie whose access token is still good. */
  live(cookie: string): ConsoleSession | undefined;
  /** Whose session it was, though its access token has expired: they sign in again without being asked. */
  tenantOf(cookie: string): string | undefined;
  /** Remembers that a browser has set out to sign in; returns its cookie. */
  start(started: StartedSignIn): string;
  /** What a browser has started; it can be taken once. */
  take(cookie: string): StartedSignIn | undefined;
  /** Keeps a session under a new cookie. */
  keep(session: ConsoleSession): string;
  end(cookie: string): void;
}

const mostSessions = 10_000;
const mostStarted = 10_000;
const longestSignIn = 10 * 60_000;

export function createSessions(clock: Clock, random: Random): Sessions {
  const sessions = boundedCache<ConsoleSession>(mostSessions);
  // Apart, as anybody may start: nobody's session makes room for that.
  const startedOnes = boundedCache<{ readonly started: StartedSignIn; readonly since: number }>(mostStarted);
  const newCookie = () => opaqueValue('tw_', random);
  return {
    live(cookie) {
      const session = sessions.get(cookie);
      return session !== undefined && session.expiresAt > clock.now() ? session : undefined;
    },
    tenantOf: (cookie) => sessions.get(cookie)?.tenantId,
    start(started) {
      const cookie = newCookie();
      startedOnes.set(cookie, { started, since: clock.now() });
      return cookie;
    },
    take(cookie) {
      const { started, since = 0 } = startedOnes.get(cookie) ?? {};
      startedOnes.delete(cookie);
      return since + longestSignIn > clock.now() ? started : undefined;
    },
    keep(session) {
      const cookie = newCookie();
      sessions.set(cookie, session);
      return cookie;
    },
    end: (cookie) => void sessions.delete(cookie),
  };
}
