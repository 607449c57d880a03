import { allowPrivateSetting, duration, issuerSetting, list, secret } from '@tessera/process';
import { z } from 'zod';
import { parseCertificateClients } from './introspection/certificate-clients.ts';
import { parseRefreshKeys } from './refresh-token-format.ts';

/** Settings of the token service. Lifetimes are in seconds; an application may override them. */
export const tokenConfig = z.object({
  /** Absent: the gateway derives the issuer from the host of the request. */
  TESSERA_ISSUER: issuerSetting,
  TESSERA_ACCESS_TOKEN_TTL: duration('10m', { min: '1s', max: '1d', wholeSeconds: true }),
  TESSERA_ID_TOKEN_TTL: duration('10m', { min: '1s', max: '1d', wholeSeconds: true }),
  TESSERA_REFRESH_TOKEN_IDLE_TTL: duration('30d', { min: '1m', max: '3650d' }),
  TESSERA_REFRESH_TOKEN_ABSOLUTE_TTL: duration('90d', { min: '1m', max: '3650d' }),
  /** How long a rotated refresh token can be presented again for its successor, in case the response was lost. */
  TESSERA_REFRESH_RETRY_WINDOW: duration('30s', { max: '60s' }),
  /**
   * `introspector.orders=acme https://orders.acme.example,...`: what callers with a certificate of that name may
   * introspect: tenants separated by `;` or `*`, then audiences. If it is set, callers with another name may introspect
   * nothing.
   */
  TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS: list().refine(
    (entries) => parseCertificateClients(entries) !== undefined,
    {
      error: 'expected entries such as introspector.orders=acme https://orders.example, each name once',
    },
  ),
  /** `1:<base64 of 32 bytes>[,2:...]`: the first key signs refresh tokens, all verify them. */
  TESSERA_TOKEN_REFRESH_KEYS: secret().refine((value) => parseRefreshKeys(value.reveal()) !== undefined, {
    error: 'expected entries such as 1:<base64 of 32 bytes>, separated by commas, each with its own version',
  }),
  TESSERA_ALLOW_PRIVATE: allowPrivateSetting,
});

export type TokenConfig = z.infer<typeof tokenConfig>;

/** What compact makes at its first start if the setting is absent: the name of its file, and the setting's form. */
export const tokenSecret = {
  key: 'TESSERA_TOKEN_REFRESH_KEYS',
  name: 'token-refresh-key',
  setting: (value: string) => `1:${value}`,
};
