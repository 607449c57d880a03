import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { Provider } from 'oidc-provider';

/** A company's own OpenID provider, of another make: whoever signs in is believed. */
export interface OpenIdProvider {
  readonly issuer: string;
  stop(): Promise<void>;
}

interface Registration {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUri: string;
  readonly backchannelLogoutUri: string;
}

/** Starts `oidc-provider` at a port of 127.0.0.1. Its people have an address of `domain`. */
export async function startOpenIdProvider(
  port: number,
  registration: Registration,
  domain: string,
): Promise<OpenIdProvider> {
  const { clientId, clientSecret, redirectUris, postLogoutRedirectUri, backchannelLogoutUri } = registration;
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [...redirectUris],
        response_types: ['code'],
        post_logout_redirect_uris: [postLogoutRedirectUri],
        backchannel_logout_uri: backchannelLogoutUri,
        backchannel_logout_session_required: true,
      },
    ],
    features: { backchannelLogout: { enabled: true } },
    // Its own refuses addresses that are not public.
    fetch: async (url: string, { dispatcher: _guard, ...options }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, options),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({
        sub: accountId,
        name: `${accountId} of ${domain}`,
        email: `${accountId}@${domain}`,
        email_verified: true,
      }),
    }),
    cookies: { keys: ['a key for the cookies of a test'] },
  });
  const server: Server = createServer(provider.callback());
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return {
    issuer,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
