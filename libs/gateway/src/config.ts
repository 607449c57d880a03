import { z } from 'zod';
import {
  duration,
  issuerSetting,
  list,
  messagesDirSetting,
  port,
  profileSetting,
  requestsPerAddressSetting,
  statementTimeoutSetting,
} from '@tessera/process';
import { coverInternet, isEverything, networks } from './http/caller-address.ts';

function networkList(defaultEntries: readonly string[], options: { readonly refuseEverything: boolean }) {
  return list(defaultEntries).transform((entries, context) => {
    const everything = entries.find(isEverything);
    if (everything !== undefined && options.refuseEverything) {
      context.addIssue({ code: 'custom', message: `"${everything}" would trust everyone; name the proxies` });
      return z.NEVER;
    }
    try {
      const known = networks(entries);
      if (options.refuseEverything && coverInternet(known.entries)) {
        context.addIssue({ code: 'custom', message: 'together they would trust everyone; name the proxies' });
        return z.NEVER;
      }
      return known;
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'bad entry' });
      return z.NEVER;
    }
  });
}

const accessLogs = ['all', 'errors-and-changes'] as const;

/** What the gateway reads. */
export const gatewayConfig = z
  .object({
    TESSERA_HTTP_HOST: z.string().prefault('localhost'),
    TESSERA_HTTP_PORT: port(8080),
    /** Absent: inferred from the request's host, if that is allowed. */
    TESSERA_ISSUER: issuerSetting,
    /** Host names an inferred issuer may have; an entry without a port allows every port. */
    TESSERA_ALLOWED_HOSTS: list(['localhost', '127.0.0.1', '[::1]']),
    /** Proxies whose `X-Forwarded-*`, `X-Request-Id` and `traceparent` are believed. */
    TESSERA_TRUSTED_PROXIES: networkList([], { refuseEverything: true }),
    /** Who may introspect and revoke without credentials in the contract profile. */
    TESSERA_TRUSTED_CALLERS: networkList(['loopback', 'private'], { refuseEverything: false }),
    TESSERA_PROFILE: profileSetting,
    /** What `/.well-known/openid-configuration` lists; absent: `complete` in the strict profile, else `contract`. */
    TESSERA_DISCOVERY: z
      .enum(['contract', 'complete'], { error: 'expected one of contract, complete' })
      .optional(),
    TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: requestsPerAddressSetting,
    /** Requests wait for a service of other processes twice as long, for one of this process four times. */
    TESSERA_DATABASE_STATEMENT_TIMEOUT: statementTimeoutSetting,
    /** How long clients may cache the key set; a key must be published longer than that before it signs. */
    TESSERA_JWKS_MAX_AGE: duration('5m', { max: '1d', wholeSeconds: true }),
    /** Which requests have a line in the log: all, or those with an error and those that may change something. */
    TESSERA_ACCESS_LOG: z
      .enum(accessLogs, { error: `expected one of ${accessLogs.join(', ')}` })
      .prefault('all'),
    TESSERA_MESSAGES_DIR: messagesDirSetting,
    /** Maximum age of the sign-in for approving a device or backchannel request. */
    TESSERA_APPROVAL_MAX_AGE: duration('1h', { min: '1s', max: '90d' }),
  })
  .refine((config) => config.TESSERA_PROFILE !== 'strict' || config.TESSERA_ISSUER !== undefined, {
    error: 'is required in the strict profile',
    path: ['TESSERA_ISSUER'],
  });

export type GatewayConfig = z.infer<typeof gatewayConfig>;
