import {
  allowPrivateSetting,
  duration,
  failuresPerAccountSetting,
  failuresPerAddressSetting,
  failuresWindowSetting,
  integer,
  issuerSetting,
} from '@tessera/process';
import { z } from 'zod';

/** Settings of the authorize service. Durations are in seconds. */
export const authorizeConfig = z.object({
  TESSERA_ISSUER: issuerSetting,
  /** Lifetime of a code (RFC 6749 §4.1.2, ASVS 10.4.3). */
  TESSERA_AUTHORIZATION_CODE_TTL: duration('60s', { min: '5s', max: '10m' }),
  /** Time to sign in after an authorization request. */
  TESSERA_AUTHORIZATION_REQUEST_TTL: duration('10m', { min: '30s', max: '1h' }),
  /** Authorization requests of one address that may wait for a sign-in at the same time. */
  TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: integer(1000, { min: 1, max: 100_000 }),
  /** Scopes of an authorization request that are unknown or not granted to the application (OIDC Core §3.1.2.1). */
  TESSERA_UNKNOWN_SCOPES: z.enum(['refuse', 'ignore']).default('refuse'),
  TESSERA_ALLOW_PRIVATE: allowPrivateSetting,
  /** Absolute lifetime of a session. */
  TESSERA_SESSION_TTL: duration('12h', { min: '1m', max: '90d' }),
  /** Idle lifetime of a session. Use is recorded once a minute. */
  TESSERA_SESSION_IDLE_TTL: duration('1h', { min: '2m', max: '90d' }),
  TESSERA_LOGIN_FAILURES_PER_ACCOUNT: failuresPerAccountSetting,
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: failuresPerAddressSetting,
  TESSERA_LOGIN_FAILURES_WINDOW: failuresWindowSetting,
});

export type AuthorizeConfig = z.infer<typeof authorizeConfig>;
