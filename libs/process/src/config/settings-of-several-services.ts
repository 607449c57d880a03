import { z } from 'zod';
import { choice, choices, duration, integer, secret } from './setting-types.ts';

/** Settings that several services read: one schema each, so that a process that hosts them all has the rules of all. */

/**
 * The issuer, an origin: every endpoint, cookie and link of ours lives at its root, and tokens are compared with it
 * byte for byte. Absent: inferred from the request's host.
 */
export const issuerSetting = z
  .string()
  .refine((value) => /^https?:/.test(value) && URL.parse(value)?.origin === value, {
    error: 'expected an origin such as https://id.example.com: lower case, no path, no trailing slash',
  })
  .optional();

/** The tenant whose administrators reach every tenant; absent: there is none. */
export const operatorTenantSetting = z.string().optional();

/** Where administrators reach the console, an origin; absent: there is none. Over plain http on this machine alone. */
export const consoleUrlSetting = z
  .string()
  .refine(
    (value) =>
      URL.parse(value)?.origin === value &&
      /^(?:https:|http:\/\/(?:127\.0\.0\.1|\[::1\])(?::|$))/.test(value),
    { error: 'expected an origin such as https://console.example.com, or http://127.0.0.1' },
  )
  .optional();

/** With which the console proves that it redeems the codes of its sign-ins. */
export const consoleSecretSetting = secret(32).optional();

/** `strict` closes what the contract leaves open. */
export const profileSetting = choice(['contract', 'strict'], 'contract');

/**
 * What goes over plain http and to addresses that are not public: `webhooks` (notifications, logout tokens), what is
 * asked of the `providers` of tenants, or of the `issuers` whose tokens prove to be applications.
 */
export const allowPrivateSetting = choices(['webhooks', 'providers', 'issuers']);

/** Whether one of them may be private. */
export function allowsPrivate(
  config: { readonly TESSERA_ALLOW_PRIVATE: z.infer<typeof allowPrivateSetting> },
  what: 'webhooks' | 'providers' | 'issuers',
): boolean {
  return config.TESSERA_ALLOW_PRIVATE.includes(what);
}

/** A folder with sentences of pages and mail, a JSON file per language; absent: those that are built in. */
export const messagesDirSetting = z.string().min(1).optional();

/** Authorization, device and backchannel requests that one address may start in a minute. */
export const requestsPerAddressSetting = integer(600, { min: 1 });

/**
 * Failed sign-ins per identifier and window, or per user and browser if it has signed in before; a success resets them.
 */
export const failuresPerAccountSetting = integer(10, { min: 1 });

/** Failed sign-ins per address and window. */
export const failuresPerAddressSetting = integer(100, { min: 1 });

/** The window of both. */
export const failuresWindowSetting = duration('15m', { min: '1s', max: '1d' });
