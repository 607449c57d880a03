import { allowPrivateSetting, duration, integer, profileSetting, secret } from '@tessera/process';
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
  /** Wrong user codes from one session within the window. */
  TESSERA_USER_CODE_FAILURES_PER_SESSION: integer(5, { min: 1 }),
  /** Wrong user codes from one signed-in user within the window. */
  TESSERA_USER_CODE_FAILURES_PER_USER: integer(20, { min: 1 }),
  /** Wrong user codes from one address within the window. */
  TESSERA_USER_CODE_FAILURES_PER_ADDRESS: integer(20, { min: 1 }),
  TESSERA_USER_CODE_FAILURES_WINDOW: duration('15m', { min: '1s', max: '1d' }),
  /** Wrong user codes within a minute from all callers that are not signed in; beyond it users sign in first. */
  TESSERA_USER_CODE_FAILURES_TOTAL: integer(120, { min: 1 }),
  /** Started flows per client and minute. */
  TESSERA_DEVICE_REQUESTS_PER_CLIENT: integer(1200, { min: 1 }),
  /** Started flows per address and minute. */
  TESSERA_DEVICE_REQUESTS_PER_ADDRESS: integer(600, { min: 1 }),
  /** Decisions of both kinds per person and minute. */
  TESSERA_DECISIONS_PER_USER: integer(60, { min: 1 }),
  /** Backchannel requests per login hint in ten minutes. */
  TESSERA_CIBA_REQUESTS_PER_USER: integer(20, { min: 1 }),
  /** Pending backchannel requests per person; further ones are not shown. */
  TESSERA_CIBA_PENDING_PER_USER: integer(5, { min: 1, max: 100 }),
  /**
   * Authenticates device codes and auth_req_ids, which distinguishes a request that Redis lost from one that never existed.
   * Set it only once every process runs a version that supports it.
   */
  TESSERA_DEVICE_HMAC_KEY: secret(32).optional(),
  /**
   * Signs notifications and decision links, and encrypts pending deliveries. Without it neither the approval channel
   * `webhook` nor the delivery mode `ping` is offered.
   */
  TESSERA_WEBHOOK_KEY: secret(32).optional(),
  TESSERA_WEBHOOK_ALLOW_PRIVATE: allowPrivateSetting,
});

export type DeviceConfig = z.infer<typeof deviceConfig>;
