import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { atEndOfFile } from '@tessera/test-kit';

/** What can be wrong with a provider, each by itself. */
export interface Faults {
  /** Answers nothing: connections are cut. */
  isAway?: boolean;
  /** Keeps connections open and says nothing. */
  isSilent?: boolean;
  /** Of the metadata, the token response or the ID token. */
  metadata?: Readonly<Record<string, unknown>>;
  token?: Readonly<Record<string, unknown>>;
  claims?: Readonly<Record<string, unknown>>;
  /** Answers of the token endpoint in place of tokens. */
  tokenError?: { readonly status: number; readonly body: object };
  /** The header of the ID token, and the key that signs it. */
  algorithm?: string;
  signsWith?: CryptoKey | Uint8Array;
  /** The signature part of the ID token. */
  signature?: string;
}

/** What the authorization endpoint was asked. */
interface Asked {
  readonly parameters: URLSearchParams;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly userInfo: Readonly<Record<string, unknown>>;
}

/** An OpenID provider on loopback with people who sign in as they are told to, and with faults. */
export interface FakeProvider {
  readonly issuer: string;
  /** Names of the endpoints that were asked, in order. */
  readonly asked: string[];
  faults: Faults;
  /** The person follows a `Location` and signs in. Returns the query that the browser brings back. */
  signIn(
    location: string,
    claims?: Readonly<Record<string, unknown>>,
    userInfo?: Readonly<Record<string, unknown>>,
  ): URLSearchParams;
  /** The provider signs with a new key from now on, and publishes no other. */
  rotateKeys(): Promise<void>;
  /** A JWT signed by the provider. */
  sign(claims: Readonly<Record<string, unknown>>, type?: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts one, which ends with the file. */
export async function startFakeProvider(clientSecret = 'a secret of the provider'): Promise<FakeProvider> {
  const codes = new Map<string, Asked>();
  const userInfos = new Map<string, object>();
  let keys = await newKeys(1);
  let generation = 1;

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (self.faults.isAway === true) return void request.socket.destroy();
    if (self.faults.isSilent === true) return;
    const path = new URL(request.url ?? '', issuer).pathname;
    self.asked.push(path);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const handler = handlers[path];
    const { status = 200, ...answered } = (await handler?.(request, new URLSearchParams(body))) ?? {
      status: 404,
      body: {},
    };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered.body));
  }

  const handlers: Record<
    string,
    (
      request: IncomingMessage,
      form: URLSearchParams,
    ) => Promise<{ readonly status?: number; readonly body: object }>
  > = {
    '/.well-known/openid-configuration': async () => ({
      body: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
        end_session_endpoint: `${issuer}/end`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
        authorization_response_iss_parameter_supported: true,
        ...self.faults.metadata,
      },
    }),
    '/jwks': async () => ({ body: { keys: [keys.jwk] } }),
    '/token': async (request, form) => {
      const { tokenError } = self.faults;
      if (tokenError !== undefined) return tokenError;
      const code = form.get('code') ?? '';
      const asked = codes.get(code);
      codes.delete(code);
      const given = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64').toString();
      const [, secret = ''] = given.split(':');
      if (decodeURIComponent(secret.replaceAll('+', ' ')) !== clientSecret)
        return { status: 401, body: { error: 'invalid_client' } };
      const verifier = form.get('code_verifier') ?? '';
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      if (
        asked?.parameters.get('code_challenge') !== challenge ||
        asked.parameters.get('redirect_uri') !== form.get('redirect_uri')
      )
        return { status: 400, body: { error: 'invalid_grant' } };
      const idToken = await self.sign({
        aud: asked.parameters.get('client_id'),
        nonce: asked.parameters.get('nonce'),
        ...asked.claims,
        ...self.faults.claims,
      });
      userInfos.set(`at-${code}`, { sub: asked.claims['sub'], ...asked.userInfo });
      return {
        body: { access_token: `at-${code}`, token_type: 'Bearer', id_token: idToken, ...self.faults.token },
      };
    },
    '/userinfo': async (request) => {
      const found = userInfos.get(request.headers.authorization?.slice(7) ?? '');
      return found === undefined ? { status: 401, body: {} } : { body: found };
    },
  };

  const self: FakeProvider = {
    issuer,
    asked: [],
    faults: {},
    signIn(location, claims = {}, userInfo = {}) {
      const { searchParams: parameters } = new URL(location);
      const code = `code-${codes.size}-${Math.random()}`;
      const isAsked = parameters.has('max_age');
      const authTime = isAsked ? { auth_time: Math.floor(Date.now() / 1000) } : {};
      codes.set(code, { parameters, claims: { sub: 'ada', ...authTime, ...claims }, userInfo });
      return new URLSearchParams({ code, state: parameters.get('state') ?? '', iss: issuer });
    },
    async rotateKeys() {
      keys = await newKeys((generation += 1));
    },
    async sign(claims, type = 'JWT') {
      const { algorithm = 'RS256', signsWith = keys.privateKey, signature } = self.faults;
      const expires = Math.floor(Date.now() / 1000) + 300;
      const signed = await new SignJWT({ iss: issuer, exp: expires, ...claims })
        .setProtectedHeader({ alg: algorithm, kid: keys.jwk.kid ?? '', typ: type })
        .setIssuedAt(typeof claims['iat'] === 'number' ? claims['iat'] : undefined)
        .sign(signsWith);
      return signature === undefined ? signed : signed.replace(/[^.]*$/, signature);
    },
    close: () => new Promise((done) => server.close(() => done())),
  };
  atEndOfFile(async () => {
    server.closeAllConnections();
    await self.close();
  });
  return self;
}

async function newKeys(generation: number): Promise<{ privateKey: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  return {
    privateKey,
    jwk: { ...(await exportJWK(publicKey)), kid: `key-${generation}`, use: 'sig', alg: 'RS256' },
  };
}
