import { duration, flag, integer, profileSetting, secret } from '@tessera/process';
import { z } from 'zod';

/** Settings of the device service. Durations are in seconds. */
export const deviceConfig = z.object({
  /** `strict`: confidential clients authenticate when they start a flow. */
  TESSERA_PROFILE: profileSetting,
  /** From the start of a device flow to its end; an application may have its own, up to the same bound. */
  TESSERA_DEVICE_CODE_TTL: duration('10m', { min: '1s', max: '15m' }),
  /** From the start of a backchannel request to its end; `requested_expiry` may shorten it. */
  TESSERA_CIBA_REQUEST_TTL: duration('5m', { min: '1s', max: '1h' }),
  /** Between two polls (RFC 8628 §3.5, CIBA Core §7.3). */
  TESSERA_DEVICE_POLL_INTERVAL: duration('5s', { min: '1s', max: '60s' }),
  /** Wrong user codes from one session within the window. */
  TESSERA_USER_CODE_FAILURES_PER_SESSION: integer(5, { min: 1 }),
  /** Wrong user codes from one address within the window. */
  TESSERA_USER_CODE_FAILURES_PER_ADDRESS: integer(20, { min: 1 }),
  TESSERA_USER_CODE_FAILURES_WINDOW: duration('15m', { min: '1s', max: '1d' }),
  /** Wrong user codes from everybody together within a minute. */
  TESSERA_USER_CODE_FAILURES_TOTAL: integer(120, { min: 1 }),
  /** Flows that one client may start in a minute. */
  TESSERA_DEVICE_REQUESTS_PER_CLIENT: integer(1200, { min: 1 }),
  /** Flows that one address may start in a minute. */
  TESSERA_DEVICE_REQUESTS_PER_ADDRESS: integer(600, { min: 1 }),
  /** Decisions, of both kinds, that one person may make in a minute. */
  TESSERA_DECISIONS_PER_USER: integer(60, { min: 1 }),
  /** Backchannel requests that may be started for one login hint in ten minutes. */
  TESSERA_CIBA_REQUESTS_PER_USER: integer(20, { min: 1 }),
  /** Backchannel requests that may wait for one person at a time; further ones are not shown to anybody. */
  TESSERA_CIBA_PENDING_PER_USER: integer(5, { min: 1, max: 100 }),
  /**
   * Marks what clients poll with, so that one that Redis has lost is told from one that never was. To be set once every
   * process runs a version that knows it.
   */
  TESSERA_DEVICE_HMAC_KEY: secret(32).optional(),
  /**
   * Signs notifications and decision links, and seals what clients are to be told; without it neither the approval
   * experience `webhook` nor the delivery modes `ping` and `push` are offered.
   */
  TESSERA_WEBHOOK_KEY: secret(32).optional(),
  /** Lets notifications go to plain http and to addresses that are not public. */
  TESSERA_WEBHOOK_ALLOW_PRIVATE: flag(false),
});

export type DeviceConfig = z.infer<typeof deviceConfig>;
