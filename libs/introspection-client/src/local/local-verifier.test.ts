import { createHmac, createPublicKey } from 'node:crypto';
import {
  exportJWK,
  generateKeyPair,
  importJWK,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
} from 'jose';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { RevocationKind } from '@tessera/proto-gen/token';
import { FakeServer, fakeToken, seconds } from '../testing/fake-server.ts';
import { waitFor } from '@tessera/test-kit';

interface Pair {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

async function pair(kid: string, alg = 'RS256'): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

let first: Pair;
let second: Pair;
let http: Server;
let published: JWK[];
let unavailable = false;
let silent = false;
let fetches = 0;
let issuer: string;
beforeAll(async () => {
  [first, second] = await Promise.all([pair('one'), pair('two')]);
  http = createServer((_request, response) => {
    fetches += 1;
    if (silent) return;
    if (unavailable) response.writeHead(503).end();
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => void http.close());

let server: FakeServer;
beforeEach(async () => {
  server = await new FakeServer().start();
  published = [first.jwk];
  unavailable = false;
  silent = false;
  fetches = 0;
});
afterEach(() => server.close());

const claims = () => ({
  iss: issuer,
  aud: 'https://orders.example',
  sub: 'ada',
  client_id: 'web',
  scope: ['orders.read'],
  role: ['clerk'],
  jti: 'j1',
  tenant_id: 'acme',
  iat: seconds() - 5,
  exp: seconds() + 300,
});

const sign = (changes: object = {}, { by = first, typ = 'at+jwt' } = {}) =>
  new SignJWT({ ...claims(), ...changes })
    .setProtectedHeader({ alg: 'RS256', kid: by.kid, typ })
    .sign(by.privateKey);

/** A token with a header that is not ours, signed by whatever key is named. */
const signAs = (header: JWTHeaderParameters, key: CryptoKey | Uint8Array) =>
  new SignJWT(claims())
    .setProtectedHeader({ typ: 'at+jwt', ...header })
    .sign(key, { crit: { 'x-new': true } });

function hmac({ alg, kid }: { alg: string; kid: string }, secret: string | Buffer): string {
  const content = `${encoded({ alg, kid, typ: 'at+jwt' })}.${encoded(claims())}`;
  const mac = createHmac(`sha${alg.slice(2)}`, secret).update(content);
  return `${content}.${mac.digest('base64url')}`;
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

function open(options: Parameters<FakeServer['introspector']>[0] = {}) {
  const sources: string[] = [];
  const introspector = server.introspector({
    watch: false,
    local: { issuer },
    ...options,
    metrics: { onAnswer: ({ source }) => sources.push(source) },
  });
  return { introspector, sources };
}

describe('local verification', () => {
  it.each(['ask', 'refuse'] as const)(
    'refuses an access token that is itself revoked, and no other, with onRevocation %s',
    async (onRevocation) => {
      const { introspector } = open({ watch: { onRevocation, kinds: [] } });
      await waitFor(() => expect(introspector.guarded).toBe(true));
      const [one, other] = [await sign({ jti: 'one' }), await sign({ jti: 'other' })];
      const active = async (token: string) => (await introspector.introspect(token)).active;
      expect([await active(one), await active(other)]).toEqual([true, true]);
      server.end({ kind: RevocationKind.ACCESS_TOKEN, sub: 'ada', clientId: 'web', jti: 'one' });
      await waitFor(async () => expect(await active(one)).toBe(false));
      expect(await active(other)).toBe(true);
      const { introspector: later } = open({ watch: { onRevocation } });
      await waitFor(async () => expect((await later.introspect(one)).active).toBe(false));
    },
  );

  it('takes tokens as those of Keycloak, with several audiences and scope as text, and no ID tokens', async () => {
    const { introspector } = open();
    const audiences = ['https://billing.example', 'https://orders.example'];
    const like = { aud: audiences, scope: '', typ: 'Bearer', azp: 'web', sid: 's1' };
    const answer = await introspector.introspect(await sign(like, { typ: 'JWT' }));
    expect(answer).toMatchObject({ active: true, aud: audiences[0], audiences, scopes: [] });
    for (const other of [
      { ...like, typ: 'ID' },
      { ...like, aud: [] },
      { ...like, aud: ['x', ''] },
    ])
      expect(await introspector.introspect(await sign(other, { typ: 'JWT' }))).toEqual({ active: false });
    expect(server.calls).toEqual([]);
  });

  it('returns the result of the server without a call, and caches it', async () => {
    const { introspector, sources } = open();
    const token = await sign();
    const { exp, iat } = claims();
    const answer = await introspector.introspect(token);
    expect(answer).toMatchObject({
      active: true,
      kind: 'access_token',
      sub: 'ada',
      clientId: 'web',
      scopes: ['orders.read'],
      roles: ['clerk'],
      aud: 'https://orders.example',
      iss: issuer,
      tenantId: 'acme',
      jti: 'j1',
    });
    expect(answer.active && Math.abs(answer.exp - exp) + Math.abs(answer.iat - iat)).toBeLessThan(4);
    await introspector.introspect(token);
    expect(sources).toEqual(['local', 'cache']);
    expect(server.calls).toEqual([]);
  });

  it.each([
    ['at+jwt', 'orders.read orders.write'],
    ['JWT', ['orders.read', 'orders.write']],
    ['JWT', 'orders.read orders.write'],
  ])('takes the declared shapes: typ %s, scope %j (RFC 9068 §2.2.3)', async (typ, scope) => {
    const { introspector, sources } = open();
    expect(await introspector.introspect(await sign({ scope }, { typ }))).toMatchObject({
      active: true,
      scopes: ['orders.read', 'orders.write'],
    });
    expect(sources).toEqual(['local']);
  });

  it('accepts the tokens of every issuer in the list, with its own keys, and no others', async () => {
    const { introspector } = open({ local: { issuer: [`${issuer}/t/acme`, `${issuer}/t/globex`] } });
    for (const iss of [`${issuer}/t/acme`, `${issuer}/t/globex`]) {
      expect(await introspector.introspect(await sign({ iss }))).toMatchObject({ active: true, iss });
    }
    expect(await introspector.introspect(await sign())).toEqual({ active: false });
    expect(fetches).toBe(2);
    expect(server.calls).toEqual([]);
    expect(() =>
      open({ local: { issuer: ['https://a.example', 'https://b.example'], jwksUri: issuer } }),
    ).toThrow('jwksUri is for one issuer');
  });

  it('refuses an invalid token locally (JWT-2, JWT-5 to JWT-8)', async () => {
    const { introspector, sources } = open();
    const good = await sign();
    const [header = '', payload = '', signature = ''] = good.split('.');
    const forged = Buffer.from(JSON.stringify({ ...claims(), sub: 'eve' })).toString('base64url');
    const plain = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url');
    const bad = [
      `${header}.${forged}.${signature}`,
      `${plain}.${payload}.`,
      `${header}.${payload}.`,
      await sign({ exp: seconds() - 1 }),
      await sign({ iat: seconds() + 100 }),
      await sign({ exp: undefined }),
      await sign({ iss: 'https://other.example' }),
      await sign({ iss: [issuer] }),
      await sign({ aud: ['https://orders.example', 'https://x.example'] }),
      await sign({ sub: 7 }),
      await sign({ scope: 7 }),
      await sign({ scope: 'orders.read  orders.write' }),
      await sign({ client_id: undefined }),
      await sign({ client_id: undefined }, { typ: 'JWT' }),
      await sign({}, { typ: 'logout+jwt' }),
      await sign({}, { by: { ...second, kid: 'one' } }),
    ];
    for (const token of bad) expect(await introspector.introspect(token)).toEqual({ active: false });
    expect(new Set(sources)).toEqual(new Set(['local']));
  });

  it('refuses a MAC that uses our public key as the secret, in any encoding (JWT-1)', async () => {
    const { introspector, sources } = open();
    const { kid, jwk } = first;
    const publicKey = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const secrets = [
      pem,
      pem.trim(),
      ` ${pem}`,
      publicKey.export({ type: 'spki', format: 'der' }),
      JSON.stringify(jwk),
      jwk.n ?? '',
      Buffer.from(jwk.n ?? '', 'base64url'),
    ];
    for (const alg of ['HS256', 'HS384', 'HS512']) {
      for (const secret of secrets) {
        expect(await introspector.introspect(hmac({ alg, kid }, secret))).toEqual({ active: false });
      }
    }
    expect(new Set(sources)).toEqual(new Set(['local']));
  });

  it('verifies ES256 by a key for ES256 and by no other (RFC 8725 section 3.1)', async () => {
    const third = await pair('three', 'ES256');
    published = [first.jwk, third.jwk];
    const { introspector, sources } = open();
    const good = await signAs({ alg: 'ES256', kid: third.kid }, third.privateKey);
    expect(await introspector.introspect(good)).toMatchObject({ active: true, jti: 'j1' });
    const stranger = await pair('three', 'ES256');
    const forged = await signAs({ alg: 'ES256', kid: third.kid }, stranger.privateKey);
    expect(await introspector.introspect(forged)).toEqual({ active: false });
    expect(new Set(sources)).toEqual(new Set(['local']));
    for (const header of [
      { alg: 'RS256', kid: third.kid },
      { alg: 'ES256', kid: first.kid },
    ]) {
      const token = await signAs(header, header.alg === 'RS256' ? first.privateKey : third.privateKey);
      expect(await introspector.introspect(token)).toEqual({ active: false });
    }
  });

  it('refuses every algorithm of RSA but RS256, even if the published key allows it (JWT-4)', async () => {
    const { alg: _, ...jwk } = first.jwk;
    published = [jwk];
    const { introspector, sources } = open();
    const key = await exportJWK(first.privateKey);
    expect(await introspector.introspect(await sign())).toMatchObject({ active: true });
    for (const alg of ['RS384', 'RS512', 'PS256', 'PS384', 'PS512']) {
      const own = (await importJWK(key, alg)) as CryptoKey;
      const token = await signAs({ alg, kid: first.kid }, own);
      expect([alg, await introspector.introspect(token)]).toEqual([alg, { active: false }]);
    }
    expect(new Set(sources)).toEqual(new Set(['local']));
  });

  it('refuses keys in the token and unknown critical headers (JWT-9)', async () => {
    const { introspector, sources } = open();
    await introspector.introspect(await sign());
    const before = fetches;
    const { kid } = first;
    const forger = { alg: 'RS256', kid };
    const bad = [
      await signAs({ ...forger, jwk: second.jwk }, second.privateKey),
      await signAs({ ...forger, jku: `${issuer}/other.json` }, second.privateKey),
      await signAs({ ...forger, x5u: `${issuer}/other.pem` }, second.privateKey),
      await signAs({ ...forger, zip: 'DEF' }, second.privateKey),
      await signAs({ ...forger, crit: ['x-new'], 'x-new': 1 }, first.privateKey),
    ];
    for (const token of bad) expect(await introspector.introspect(token)).toEqual({ active: false });
    expect(new Set(sources)).toEqual(new Set(['local']));
    expect(fetches).toBe(before);
  });

  it('uses a kid only as a name, and asks the server about an unpublished one (JWT-3)', async () => {
    const { introspector, sources } = open();
    await introspector.introspect(await sign());
    const kids = [
      '../../etc/passwd',
      "one' OR '1'='1",
      'ONE',
      'one\u0000',
      '__proto__',
      'http://127.0.0.1/one',
      '',
    ];
    for (const kid of kids) {
      for (const token of [
        await signAs({ alg: 'RS256', kid }, second.privateKey),
        hmac({ alg: 'HS256', kid }, ''),
      ])
        expect([kid, await introspector.introspect(token)]).toEqual([kid, { active: false }]);
    }
    expect(new Set(sources)).toEqual(new Set(['local', 'server']));
  });

  it('uses a new key once it is published, and asks the server before that', async () => {
    const { introspector, sources } = open();
    await introspector.introspect(await sign());
    const early = await sign({}, { by: second });
    server.tokens.set(early, fakeToken());
    expect(await introspector.introspect(early)).toMatchObject({ active: true });
    published = [first.jwk, second.jwk];
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await introspector.introspect(await sign({ jti: 'j2' }, { by: second }))).toMatchObject({
      jti: 'j2',
    });
    expect(sources).toEqual(['local', 'server', 'local']);
  });

  it('asks the server if the keys are unavailable or the token is not a JWT', async () => {
    unavailable = true;
    const { introspector, sources } = open();
    const token = await sign();
    server.tokens.set(token, fakeToken());
    server.tokens.set('tr_refresh', fakeToken());
    expect(await introspector.introspect(token)).toMatchObject({ active: true });
    expect(await introspector.introspect('tr_refresh')).toMatchObject({ active: true });
    expect(await introspector.introspect('garbage')).toEqual({ active: false });
    expect(sources).toEqual(['server', 'server', 'server']);
    expect(fetches).toBeGreaterThan(0);
  });

  describe('while the key set URL does not respond', () => {
    afterEach(() => {
      vi.useRealTimers();
      http.closeAllConnections();
    });

    /** Of which a quarter is for the keys. */
    const timeoutMs = 4_000;
    const atOnceMs = 800;
    const milliseconds = async (work: Promise<unknown>) => {
      const started = performance.now();
      await work;
      return performance.now() - started;
    };

    it('asks the server within the deadline of the caller, and from then on at once', async () => {
      silent = true;
      const { introspector, sources } = open({ timeoutMs, cache: false });
      const token = await sign();
      server.tokens.set(token, fakeToken());
      expect(await milliseconds(introspector.introspect(token))).toBeLessThan(timeoutMs);
      for (let time = 0; time < 3; time += 1) {
        expect(await milliseconds(introspector.introspect(token))).toBeLessThan(atOnceMs);
      }
      expect(sources).toEqual(Array(4).fill('server'));
    });

    it('does not keep a caller who gave up waiting', async () => {
      silent = true;
      const { introspector } = open();
      const giving = new AbortController();
      const asked = introspector.introspect(await sign(), { signal: giving.signal });
      giving.abort(new Error('enough'));
      const late = new Promise((resolve) => setTimeout(resolve, 400, 'still waiting'));
      await expect(Promise.race([asked, late])).rejects.toThrow('enough');
    });

    it('uses cached keys for ten minutes, then asks the server, and returns to fresh keys', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      const { introspector, sources } = open({ timeoutMs, cache: false });
      const token = await sign({ exp: seconds() + 7200 });
      server.tokens.set(token, fakeToken({ exp: BigInt(seconds() + 7200) }));
      await introspector.introspect(token);
      silent = true;
      const unpublished = await sign({}, { by: second });
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await introspector.introspect(unpublished);
      expect(await milliseconds(introspector.introspect(token))).toBeLessThan(atOnceMs);
      vi.setSystemTime(Date.now() + 11 * 60_000);
      for (let time = 0; time < 3; time += 1) {
        expect(await milliseconds(introspector.introspect(token))).toBeLessThan(atOnceMs);
      }
      expect(sources).toEqual(['local', 'server', 'local', 'server', 'server', 'server']);
      silent = false;
      http.closeAllConnections();
      await expect
        .poll(async () => (await introspector.introspect(token)).active && sources.at(-1))
        .toBe('local');
    });
  });

  it('asks the server if the caller requests it', async () => {
    const { introspector, sources } = open();
    const token = await sign();
    expect(await introspector.introspect(token, { fresh: true })).toEqual({ active: false });
    expect(sources).toEqual(['server']);
  });
});
