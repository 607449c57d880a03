import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { atEndOfFile } from '@tessera/test-kit';

type Members = Readonly<Record<string, unknown>>;

/** What a token says besides the usual; undefined takes it out. */
export interface Said {
  readonly header?: Members;
  readonly claims?: Members;
  /** In place of the key of the issuer. */
  readonly key?: CryptoKey | Uint8Array;
}

/** Who issues tokens for workloads, on loopback: an OpenID issuer, the API server of a cluster, a SPIFFE bundle. */
export interface FakeIssuer {
  readonly issuer: string;
  /** Paths that were asked, in order, with the bearer if one was sent. */
  readonly asked: string[];
  /** Keeps connections open and says nothing. */
  isSilent: boolean;
  /** What it calls itself in its metadata. */
  called: string;
  /** Answers a TokenReview; absent: with 404. */
  reviewed: ((review: unknown) => object) | undefined;
  /** What is at its address itself. */
  atRoot: object | undefined;
  /** Changes the document with the keys. */
  published: (document: { readonly keys: readonly JWK[] }) => object;
  /** Signs with a new key from now on. */
  rotate(): Promise<void>;
  /** A token, good for an hour unless it says otherwise. */
  token(said: Said & { readonly claims: Members }): Promise<string>;
}

/** Starts one, which ends with the file. */
export async function startFakeIssuer(algorithm: 'RS256' | 'ES256' = 'RS256'): Promise<FakeIssuer> {
  let generation = 0;
  let pair = await newPair();
  const server = createServer((request, response) => {
    const { authorization = '', accept = '' } = request.headers;
    fake.asked.push([request.url, authorization].join(' ').trim());
    if (fake.isSilent) return;
    if (request.method === 'POST') void review(request, response);
    // As the API server of Kubernetes.
    else if (request.url === '/openid/v1/jwks' && !accept.includes('application/jwk-set+json'))
      response.writeHead(406).end();
    else answer(request.url ?? '', response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function newPair() {
    const keys = await generateKeyPair(algorithm, { extractable: true });
    generation += 1;
    const kid = `key-${generation}`;
    return { kid, ...keys, jwk: { ...(await exportJWK(keys.publicKey)), kid, alg: algorithm, use: 'sig' } };
  }

  function answer(url: string, response: ServerResponse): void {
    const send = (body: object) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (url === '/.well-known/openid-configuration')
      send({ issuer: fake.called, jwks_uri: `${issuer}/openid/v1/jwks` });
    else if (url === '/' && fake.atRoot !== undefined) send(fake.atRoot);
    else if (url === '/openid/v1/jwks') send(fake.published({ keys: [pair.jwk] }));
    else response.writeHead(404).end();
  }

  async function review(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = JSON.parse(Buffer.concat(await request.toArray()).toString());
    if (fake.reviewed === undefined) response.writeHead(404).end();
    else response.writeHead(201).end(JSON.stringify(fake.reviewed(body)));
  }

  const fake: FakeIssuer = {
    issuer,
    asked: [],
    isSilent: false,
    called: issuer,
    reviewed: undefined,
    atRoot: undefined,
    published: (document) => document,
    async rotate() {
      pair = await newPair();
    },
    token({ header = {}, claims, key = pair.privateKey }) {
      const now = Math.floor(Date.now() / 1000);
      const payload = { iss: issuer, iat: now, exp: now + 3_600, ...claims };
      const members = { alg: algorithm, kid: pair.kid, typ: 'JWT', ...header };
      return new SignJWT(withoutAbsent(payload)).setProtectedHeader(withoutAbsent(members)).sign(key);
    },
  };
  atEndOfFile(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return fake;
}

function withoutAbsent<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
