import {
  allowPrivateSetting,
  duration,
  failuresPerAccountSetting,
  failuresPerAddressSetting,
  failuresWindowSetting,
  integer,
  profileSetting,
  requestsPerAddressSetting,
  secret,
} from '@tessera/process';
import { z } from 'zod';

/** Settings of the device service. Durations are in seconds. */
export const deviceConfig = z.object({
  /** `strict`: confidential clients authenticate when they start a flow. */
  TESSERA_PROFILE: profileSetting,
  /** Lifetime of a device flow; an application may have its own, up to the same maximum. */
  TESSERA_DEVICE_CODE_TTL: duration('10m', { min: '1s', max: '15m' }),
  /** Lifetime of a backchannel request; `requested_expiry` may shorten it. */
  TESSERA_CIBA_REQUEST_TTL: duration('5m', { min: '1s', max: '1h' }),
  /** Between two polls (RFC 8628 §3.5, CIBA Core §7.3). */
  TESSERA_DEVICE_POLL_INTERVAL: duration('5s', { min: '1s', max: '60s' }),
  TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: requestsPerAddressSetting,
  TESSERA_LOGIN_FAILURES_PER_ACCOUNT: failuresPerAccountSetting,
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: failuresPerAddressSetting,
  TESSERA_LOGIN_FAILURES_WINDOW: failuresWindowSetting,
  /** Backchannel requests per login hint in ten minutes. */
  TESSERA_CIBA_REQUESTS_PER_USER: integer(20, { min: 1 }),
  /**
   * Authenticates device codes and auth_req_ids, which distinguishes a request that Redis lost from one that never
   * existed. Set it only once every process runs a version that supports it.
   */
  TESSERA_DEVICE_HMAC_KEY: secret(32).optional(),
  /**
   * Signs notifications and decision links, and encrypts pending deliveries. Without it neither the approval channel
   * `webhook` nor the delivery mode `ping` is offered.
   */
  TESSERA_WEBHOOK_KEY: secret(32).optional(),
  TESSERA_ALLOW_PRIVATE: allowPrivateSetting,
});

export type DeviceConfig = z.infer<typeof deviceConfig>;

/** Limits that follow from the settings. */
export interface DeviceLimits {
  /** Started flows within a minute; authenticated clients are counted apart. */
  readonly requests: { readonly perClient: number; readonly perAddress: number };
  /** Wrong user codes. */
  readonly failures: FailureLimits;
  /** Decisions of both kinds per person and minute. */
  readonly decisionsPerUser: number;
  /** Pending backchannel requests per person; further ones are not shown. */
  readonly pendingPerUser: number;
}

/** Wrong user codes within the window. */
export interface FailureLimits {
  readonly session: number;
  readonly person: number;
  readonly address: number;
  readonly windowSeconds: number;
  /** From all callers that are not signed in, together, within a minute; beyond it users sign in first. */
  readonly global: number;
}

/** The page of one person shows no more. */
const mostPending = 100;

/** How often an account or an address may guess is chosen once, for sign-ins; user codes have a share of it. */
export function deviceLimits(config: DeviceConfig): DeviceLimits {
  const perAddress = config.TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS;
  const cibaRequests = config.TESSERA_CIBA_REQUESTS_PER_USER;
  const address = atLeastOne(config.TESSERA_LOGIN_FAILURES_PER_ADDRESS / 5);
  return {
    requests: { perAddress, perClient: 2 * perAddress },
    failures: {
      session: atLeastOne(config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT / 2),
      person: 2 * config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT,
      address,
      windowSeconds: config.TESSERA_LOGIN_FAILURES_WINDOW,
      global: 6 * address,
    },
    decisionsPerUser: 3 * cibaRequests,
    pendingPerUser: Math.min(atLeastOne(cibaRequests / 4), mostPending),
  };
}

function atLeastOne(limit: number): number {
  return Math.max(1, Math.floor(limit));
}
