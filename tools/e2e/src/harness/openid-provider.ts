import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { parseForms } from '@tessera/test-kit/provision';
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

/**
 * Signs somebody in there over HTTP, in a new browser; resolves with where the provider sends the browser in the end.
 */
export async function signInAtProvider(request: string, login: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let form: { readonly action: URL; readonly fields: URLSearchParams } | undefined;
  for (let url = new URL(request); ;) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(form?.action ?? url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form && { method: 'POST', body: form.fields }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [pair = ''] = set.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = answer.headers.get('location');
    if (location !== null) {
      const next = new URL(location, url);
      if (next.origin !== url.origin) return next;
      [url, form] = [next, undefined];
      continue;
    }
    const [shown] = parseForms(await answer.text(), url);
    if (shown === undefined) throw new Error(`the provider shows no form, status ${answer.status}`);
    const fields = new URLSearchParams([...shown.fields]);
    if (fields.has('login')) fields.set('login', login);
    if (fields.has('password')) fields.set('password', 'anything');
    form = { action: shown.action, fields };
  }
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
