import { duration, integer } from '@tessera/process';
import { z } from 'zod';

/** Settings of the authorize service. Durations are in seconds. */
export const authorizeConfig = z.object({
  /** From the issue of a code to its end (RFC 6749 §4.1.2, ASVS 10.4.3). */
  TESSERA_AUTHORIZATION_CODE_TTL: duration('60s', { min: '5s', max: '10m' }),
  /** How long a person may take to sign in. */
  TESSERA_AUTHORIZATION_REQUEST_TTL: duration('10m', { min: '30s', max: '1h' }),
  /** From signing in to the end of the session, whatever is done with it. */
  TESSERA_SESSION_TTL: duration('12h', { min: '1m', max: '90d' }),
  /** How long a session may be left alone; being seen is noted once a minute. */
  TESSERA_SESSION_IDLE_TTL: duration('1h', { min: '2m', max: '90d' }),
  /** Attempts to sign in with one identifier within the window; forgotten at a success. */
  TESSERA_LOGIN_FAILURES_PER_ACCOUNT: integer(10, { min: 1 }),
  /** Attempts to sign in from one address within the window. */
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: integer(100, { min: 1 }),
  TESSERA_LOGIN_FAILURES_WINDOW: duration('15m', { min: '1s', max: '1d' }),
});

export type AuthorizeConfig = z.infer<typeof authorizeConfig>;
