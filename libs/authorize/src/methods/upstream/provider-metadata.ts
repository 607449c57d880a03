import { boundedCache, type Clock } from '@tessera/kit';
import type { Fetch } from '@tessera/outbound';
import type { RemoteJWKSet } from 'jose';
import type { ServerMetadata } from 'openid-client';
import { ProviderUnreachableError } from './provider-refusals.ts';

/** What a provider says of itself (OIDC Discovery §3), and its keys. */
export interface ProviderMetadata {
  readonly server: ServerMetadata;
  /** Asks for new keys when a signature names an unknown one, at most once within some seconds. */
  readonly keys: RemoteJWKSet;
}

/** Finds the metadata of an issuer. Rejects if it cannot be had, or is another issuer's. */
export type FindMetadata = (issuer: string) => Promise<ProviderMetadata>;

const keptMs = 600_000;
/** People who try again neither wait for an unavailable provider each time nor flood it. */
const failureKeptMs = 2_000;
const mostIssuers = 500;
const keysTimeoutMs = 3_000;
const keysCooldownMs = 5_000;

interface Kept {
  readonly found: Promise<ProviderMetadata>;
  until: number;
}

/** Keeps metadata and keys for ten minutes, of the issuers that were used last. */
export function createMetadataCache({
  fetch,
  allowInsecure,
  clock,
}: {
  readonly fetch: Fetch;
  readonly allowInsecure: boolean;
  readonly clock: Clock;
}): FindMetadata {
  const kept = boundedCache<Kept>(mostIssuers);

  async function discover(issuer: string): Promise<ProviderMetadata> {
    const [client, { createRemoteJWKSet, customFetch: keysFetch }] = await Promise.all([
      import('openid-client'),
      import('jose'),
    ]);
    const insecure = allowInsecure ? [client.allowInsecureRequests] : [];
    const configuration = await client
      .discovery(new URL(issuer), 'discovery', undefined, client.None(), {
        [client.customFetch]: fetch,
        execute: insecure,
      })
      .catch((error: unknown) => {
        throw new ProviderUnreachableError('its metadata cannot be read', { cause: error });
      });
    const server = configuration.serverMetadata();
    // Discovery §4.3. What the provider proves is bound to this very text.
    if (server.issuer !== issuer)
      throw new ProviderUnreachableError('its metadata names another issuer', { cause: server.issuer });
    for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const)
      if (!isHttp(server[endpoint], allowInsecure))
        throw new ProviderUnreachableError(`its metadata has no usable ${endpoint}`);
    const keys = createRemoteJWKSet(new URL(server.jwks_uri ?? ''), {
      [keysFetch]: fetch,
      timeoutDuration: keysTimeoutMs,
      cooldownDuration: keysCooldownMs,
      cacheMaxAge: keptMs,
    });
    return { server, keys };
  }

  return async (issuer) => {
    const known = kept.get(issuer);
    if (known !== undefined && clock.now() < known.until) return known.found;
    const entry: Kept = { found: discover(issuer), until: clock.now() + keptMs };
    kept.set(issuer, entry);
    entry.found.catch(() => (entry.until = clock.now() + failureKeptMs));
    return entry.found;
  };
}

/** Whether a browser or we may be sent there: never to `javascript:` or the like. */
export function isHttp(uri: string | undefined, allowInsecure: boolean): boolean {
  const protocol = uri === undefined ? undefined : URL.parse(uri)?.protocol;
  return protocol === 'https:' || (allowInsecure && protocol === 'http:');
}
