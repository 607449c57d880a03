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
}

/** An administrator who is signed in. */
export interface ConsoleSession {
  /** Of the person. */
  readonly tenantId: string;
  /** Whether they reach every tenant. */
  readonly everyTenant: boolean;
  readonly userId: string;
  readonly name: string;
  readonly accessToken: Secret;
  /** Of the access token, in milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** What the console remembers of a browser. */
interface Remembered {
  readonly started?: StartedSignIn | undefined;
  readonly session?: ConsoleSession | undefined;
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
  /** Remembers that a browser has set out to sign in; resolves with its cookie. */
  start(started: StartedSignIn): string;
  /** What a browser has started; it can be taken once. */
  take(cookie: string): StartedSignIn | undefined;
  /** Keeps a session under a new cookie. */
  keep(session: ConsoleSession): string;
  end(cookie: string): void;
}

const mostSessions = 10_000;
const longestSignIn = 10 * 60_000;

export function createSessions(clock: Clock, random: Random): Sessions {
  const remembered = boundedCache<Remembered & { readonly since: number }>(mostSessions);
  const remember = (entry: Remembered): string => {
    const cookie = opaqueValue('tw_', random);
    remembered.set(cookie, { ...entry, since: clock.now() });
    return cookie;
  };
  return {
    live(cookie) {
      const { session } = remembered.get(cookie) ?? {};
      return session !== undefined && session.expiresAt > clock.now() ? session : undefined;
    },
    tenantOf: (cookie) => remembered.get(cookie)?.session?.tenantId,
    start: (started) => remember({ started }),
    take(cookie) {
      const { started, since = 0 } = remembered.get(cookie) ?? {};
      if (started === undefined) return undefined;
      remembered.delete(cookie);
      return since + longestSignIn > clock.now() ? started : undefined;
    },
    keep: (session) => remember({ session }),
    end: (cookie) => void remembered.delete(cookie),
  };
}
