import { readFile } from 'node:fs/promises';
import { assertionParameters } from '@tessera/oauth/client-assertion';

/** Returns an access token of our own; called with `true` after the last one was refused. */
export type AccessTokenSource = (refused: boolean) => Promise<string> | string;

/** By what the application proves who it is. */
type ClientProof =
  | { readonly clientId: string; readonly clientSecret: string; readonly tokenFile?: never }
  | {
      /**
       * A file with a token of the platform that the application trusts, such as a projected service-account token. It
       * is read again for each access token.
       */
      readonly tokenFile: string;
      /** Not needed: the token says who it is. */
      readonly clientId?: string;
      readonly clientSecret?: never;
    };

export type ClientCredentialsOptions = ClientProof & {
  /** The server's token endpoint, for example `https://id.example/token`. */
  readonly tokenEndpoint: string;
  /** Default: `tokens.introspect`. */
  readonly scope?: string;
  readonly timeoutMs?: number;
};

const refreshBeforeMs = 30_000;

/**
 * Access tokens by client credentials (RFC 6749 §4.4), fetched when they are first needed and again shortly before they
 * expire.
 */
export function clientCredentials(options: ClientCredentialsOptions): AccessTokenSource {
  let current: { readonly accessToken: string; readonly until: number } | undefined;
  let fetching: Promise<string> | undefined;
  return (refused) => {
    if (refused) current = undefined;
    if (current !== undefined && Date.now() < current.until) return current.accessToken;
    fetching ??= fetchToken(options)
      .then(({ accessToken, lifetimeMs }) => {
        const margin = Math.min(refreshBeforeMs, lifetimeMs / 2);
        current = { accessToken, until: Date.now() + lifetimeMs - margin };
        return accessToken;
      })
      .finally(() => {
        fetching = undefined;
      });
    return fetching;
  };
}

async function fetchToken(
  options: ClientCredentialsOptions,
): Promise<{ accessToken: string; lifetimeMs: number }> {
  const { tokenEndpoint, scope = 'tokens.introspect', timeoutMs = 5_000 } = options;
  const { headers = {}, parameters = {} } = await proofOf(options);
  const response = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope, ...parameters }).toString(),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const body: unknown = await response.json();
  if (!response.ok || !isTokenAnswer(body)) {
    throw new Error(`the token endpoint answered with status ${response.status}`);
  }
  return { accessToken: body.access_token, lifetimeMs: body.expires_in * 1000 };
}

async function proofOf({ clientId, clientSecret, tokenFile }: ClientCredentialsOptions): Promise<{
  headers?: Readonly<Record<string, string>>;
  parameters?: Readonly<Record<string, string>>;
}> {
  if (tokenFile !== undefined) {
    const assertion = (await readFile(tokenFile, 'utf8')).trim();
    return {
      parameters: {
        ...assertionParameters(assertion),
        ...(clientId !== undefined && { client_id: clientId }),
      },
    };
  }
  const encoded = [clientId, clientSecret].map((part) => encodeURIComponent(part)).join(':');
  return { headers: { authorization: `Basic ${Buffer.from(encoded).toString('base64')}` } };
}

function isTokenAnswer(body: unknown): body is { access_token: string; expires_in: number } {
  if (typeof body !== 'object' || body === null) return false;
  const { access_token: accessToken, expires_in: expiresIn } = body as Record<string, unknown>;
  return typeof accessToken === 'string' && typeof expiresIn === 'number' && expiresIn > 0;
}
