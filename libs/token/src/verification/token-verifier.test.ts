import { createHmac, constants, sign, type KeyObject } from 'node:crypto';
import { rootCall } from '@tessera/rpc';
import { systemClock } from '@tessera/kit';
import type { CallOptions } from '@tessera/rpc';
import { largeToken, longestToken, temporarilyUnavailable } from '@tessera/oauth';
import { fakeClock, silentLog, waitFor } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { FakeKeys, signedToken, testKey, type TestKey } from '../testing/fake-keys.ts';
import { codeOf } from '../testing/world.ts';
import { createTokenVerifier } from './token-verifier.ts';
import { createVerificationKeys } from './verification-keys.ts';

const key = testKey('key-1');
const es256 = testKey('key-es', 'ES256');
const header = { alg: 'RS256', kid: 'key-1', typ: 'at+jwt' };
const now = Math.floor(systemClock.now() / 1000);
const claims = {
  iss: 'https://id.example',
  aud: 'https://orders.acme.example',
  sub: 'ada',
  client_id: 'web',
  scope: ['openid'],
  role: [] as string[],
  exp: now + 600,
  iat: now,
  jti: 'token-1',
  tenant_id: 'acme',
};

function setUp(...keys: TestKey[]) {
  const clock = fakeClock(now * 1000);
  const fake = new FakeKeys(key, ...keys);
  const revoked = new Set<string>();
  const directory = { tenantIssuers: async () => new Map<string, string>() };
  const verificationKeys = createVerificationKeys(fake.peer(), directory, { clock, log: silentLog() });
  const verifier = createTokenVerifier(verificationKeys, { clock }, revoked);
  return {
    clock,
    fake,
    revoked,
    verifier,
    accepts: async (token: string, call: CallOptions = {}) =>
      (await verifier.accessToken(token, () => call)) !== undefined,
  };
}

const without = (name: string) =>
  Object.fromEntries(Object.entries(claims).filter(([member]) => member !== name));
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('verification of access tokens', () => {
  it('accepts a token of this server and returns its claims (RFC 9068 section 4)', async () => {
    const { verifier } = setUp();
    expect(await verifier.accessToken(signedToken(key, header, claims), () => ({}))).toEqual(claims);
  });

  it('refuses a revoked token, verified before or not', async () => {
    const { accepts, revoked } = setUp();
    const token = signedToken(key, header, claims);
    expect(await accepts(token)).toBe(true);
    revoked.add(claims.jti);
    expect(await accepts(token)).toBe(false);
    expect(await accepts(signedToken(key, header, { ...claims, role: ['clerk'] }))).toBe(false);
    expect(await accepts(signedToken(key, header, { ...claims, jti: 'token-2' }))).toBe(true);
  });

  it('remembers a token that it has verified, but no large one: so many of them would take a gigabyte', async () => {
    const { verifier } = setUp();
    const isVerifiedAgain = async (token: string) => {
      expect(await verifier.accessToken(token, () => ({}))).toBeDefined();
      return verifier.accessToken(token, () => ({})) instanceof Promise;
    };
    const role = Array.from({ length: 700 }, (_, at) => `department-${at}`);
    const large = signedToken(key, header, { ...claims, role });
    expect(large.length).toBeGreaterThan(largeToken);
    expect(await isVerifiedAgain(large)).toBe(true);
    expect(await isVerifiedAgain(signedToken(key, header, claims))).toBe(false);
  });

  it('refuses HMAC signatures made with the public key in any of its forms (JWT-1, RFC 8725 section 3.1)', async () => {
    const { accepts } = setUp();
    const jwk = key.publicKey.export({ format: 'jwk' });
    const pem = key.publicKey.export({ format: 'pem', type: 'spki' });
    const der = key.publicKey.export({ format: 'der', type: 'spki' });
    for (const secret of [pem, pem.trim(), ` ${pem}`, der, JSON.stringify(jwk), String(jwk.n), '']) {
      for (const alg of ['HS256', 'HS512', 'RS256']) {
        const text = `${encode({ ...header, alg })}.${encode(claims)}`;
        const digest = alg === 'HS512' ? 'sha512' : 'sha256';
        const mac = createHmac(digest, secret).update(text).digest('base64url');
        expect(await accepts(`${text}.${mac}`)).toBe(false);
      }
    }
  });

  it('refuses tokens without a signature, whatever they call it (JWT-2)', async () => {
    const { accepts } = setUp();
    for (const alg of ['none', 'None', 'nOnE', 'RS256', undefined]) {
      const text = `${encode({ ...header, alg })}.${encode(claims)}`;
      for (const token of [text, `${text}.`, `${text}.AA`]) expect(await accepts(token)).toBe(false);
    }
  });

  it('refuses every unknown kid and fetches the keys at most once a second (JWT-3)', async () => {
    const { accepts, fake, clock } = setUp();
    await accepts(signedToken(key, header, claims));
    const kids = [
      '',
      undefined,
      '../../dev/null',
      "' OR 1=1 --",
      'x'.repeat(10_240),
      ['key-1'],
      1,
      null,
      'key-2',
    ];
    for (const kid of kids) expect(await accepts(signedToken(key, { ...header, kid }, claims))).toBe(false);
    expect(fake.fetches).toBe(1);
    clock.advance(1001);
    for (const kid of ['key-2', 'key-3'])
      expect(await accepts(signedToken(key, { ...header, kid }, claims))).toBe(false);
    expect(fake.fetches).toBe(2);
  });

  it('accepts a known key with no algorithm but its own, whatever the header names (JWT-4, RFC 8725 section 3.1)', async () => {
    const { accepts } = setUp();
    const pss = (data: Buffer, privateKey: KeyObject) =>
      sign('sha256', data, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING });
    const signers: [string, (data: Buffer) => Buffer][] = [
      ['RS384', (data) => sign('sha384', data, key.privateKey)],
      ['RS512', (data) => sign('sha512', data, key.privateKey)],
      ['PS256', (data) => pss(data, key.privateKey)],
      ['rs256', (data) => sign('sha256', data, key.privateKey)],
    ];
    for (const [alg, signer] of signers) {
      for (const named of [alg, 'RS256']) {
        if (alg === 'rs256' && named === 'RS256') continue;
        const text = `${encode({ ...header, alg: named })}.${encode(claims)}`;
        expect(await accepts(`${text}.${signer(Buffer.from(text)).toString('base64url')}`)).toBe(false);
      }
    }
  });

  it('accepts ES256 by a key for ES256 alone, in access and ID tokens (RFC 8725 section 3.1, RFC 7518 section 3.4)', async () => {
    const { accepts, verifier } = setUp(es256);
    const named = { ...header, alg: 'ES256', kid: es256.kid };
    const token = signedToken(es256, named, claims);
    expect(await verifier.accessToken(token, () => ({}))).toEqual(claims);
    const text = token.slice(0, token.lastIndexOf('.'));
    const der = sign('sha256', Buffer.from(text), es256.privateKey);
    expect(await accepts(`${text}.${der.toString('base64url')}`)).toBe(false);
    expect(await accepts(signedToken(es256, { ...named, alg: 'RS256' }, claims))).toBe(false);
    expect(await accepts(signedToken(es256, { ...named, kid: key.kid }, claims))).toBe(false);
    expect(await accepts(signedToken(key, { ...header, alg: 'ES256' }, claims))).toBe(false);
    expect(await accepts(signedToken(key, { ...header, kid: es256.kid }, claims))).toBe(false);
    const { client_id: _, scope: __, ...idClaims } = claims;
    const hint = (by: TestKey, alg: string = by.algorithm) =>
      verifier.idToken(signedToken(by, { alg, kid: by.kid, typ: 'JWT' }, idClaims), () => ({}));
    expect(await hint(key)).toMatchObject({ sub: claims.sub });
    expect(await hint(es256)).toMatchObject({ sub: claims.sub });
    expect(await hint(es256, 'RS256')).toBeUndefined();
    expect(await hint(key, 'ES256')).toBeUndefined();
  });

  it('refuses tokens of another type, signed by our own key (JWT-6, RFC 9068 section 4)', async () => {
    const { accepts } = setUp();
    for (const typ of ['jwt', 'application/at+jwt', 'AT+JWT', 'logout+jwt', undefined]) {
      expect(await accepts(signedToken(key, { ...header, typ }, claims))).toBe(false);
    }
  });

  it('accepts the shapes that a resource may declare, and never an ID token (RFC 9068 §2.1, §2.2.3)', async () => {
    const { accepts, verifier } = setUp();
    const scopes = { ...claims, scope: ['orders.read', 'orders.write'] };
    for (const typ of ['at+jwt', 'JWT']) {
      for (const scope of [scopes.scope, scopes.scope.join(' ')]) {
        const token = signedToken(key, { ...header, typ }, { ...claims, scope });
        expect(await verifier.accessToken(token, () => ({}))).toEqual(scopes);
        expect(await verifier.idToken(token, () => ({}))).toBeUndefined();
      }
      const { client_id: _, ...idClaims } = claims;
      expect(await accepts(signedToken(key, { ...header, typ }, idClaims))).toBe(false);
    }
  });

  it('refuses missing claims and claims of the wrong type (JWT-7)', async () => {
    const { accepts } = setUp();
    const wrong: Record<string, unknown[]> = {
      iss: [['https://id.example'], { a: 1 }, '', 1, null],
      aud: [['https://orders.acme.example'], ['https://orders.acme.example', 'x'], '', null],
      sub: [1, '', null, ['ada']],
      exp: [String(now + 600), null, now + 0.5, -1, true],
      iat: ['0', null, [], now + 11],
      scope: ['', 'openid  email', ['openid', 1], null],
      role: ['clerk', [''], null],
      client_id: ['', 1],
      tenant_id: ['', 1],
      jti: ['', 1],
      nbf: [now + 11, 'now'],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        expect(await accepts(signedToken(key, header, { ...claims, [name]: value })), name).toBe(false);
      }
      if (name !== 'nbf') expect(await accepts(signedToken(key, header, without(name))), name).toBe(false);
    }
    const huge = JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e400');
    expect(await accepts(signedToken(key, header, huge))).toBe(false);
    for (const payload of ['[]', 'null', '"text"', '1', '{', '']) {
      expect(await accepts(signedToken(key, header, payload))).toBe(false);
    }
  });

  it('accepts a token until the second it expires and from ten seconds before it was issued (JWT-8)', async () => {
    const { accepts, clock } = setUp();
    const token = signedToken(key, header, claims);
    clock.set((claims.exp - 1) * 1000);
    expect(await accepts(token)).toBe(true);
    clock.set(claims.exp * 1000);
    expect(await accepts(token)).toBe(false);
    clock.set((claims.iat - 10) * 1000);
    expect(await accepts(signedToken(key, header, { ...claims, jti: 'early' }))).toBe(true);
    clock.set((claims.iat - 11) * 1000);
    expect(await accepts(signedToken(key, header, { ...claims, jti: 'too early' }))).toBe(false);
  });

  it('refuses header members that bring a key or change the rules (JWT-9, DOS-2)', async () => {
    const { accepts } = setUp();
    const attacker = testKey('key-1');
    const jwk = attacker.publicKey.export({ format: 'jwk' });
    const extras = [
      { jwk },
      { jku: 'https://evil.example/jwks' },
      { x5u: 'https://evil.example/cert' },
      { x5c: ['MIIB'] },
      { crit: ['b64'], b64: false },
      { b64: false },
      { zip: 'DEF' },
      { cty: 'JWT' },
    ];
    for (const extra of extras) {
      expect(await accepts(signedToken(key, { ...header, ...extra }, claims))).toBe(false);
      expect(await accepts(signedToken(attacker, { ...header, ...extra }, claims))).toBe(false);
    }
    expect(await accepts(signedToken(attacker, header, claims))).toBe(false);
  });

  it('refuses every other spelling of a valid token and everything but three parts', async () => {
    const { accepts } = setUp();
    const token = signedToken(key, header, claims);
    const [head = '', payload = '', signature = ''] = token.split('.');
    const around = [
      `${token}=`,
      `${token}.`,
      `.${token}`,
      ` ${token}`,
      `${token}\n`,
      `${token}.x`,
      '',
      '.',
      '..',
      '...',
    ];
    const inside = [
      `${head}=.${payload}.${signature}`,
      `${head}.${payload} .${signature}`,
      `${head}..${signature}`,
    ];
    const alphabet = [token.replaceAll('-', '+'), token.replaceAll('_', '/')].filter(
      (spelling) => spelling !== token,
    );
    const trailing = `${head}.${payload}.${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : 'A'}`;
    const oversized = signedToken(key, header, { ...claims, filler: 'x'.repeat(longestToken) });
    const spellings = [...around, ...inside, ...alphabet, trailing, oversized];
    for (const spelling of spellings) expect(await accepts(spelling), spelling.slice(0, 20)).toBe(false);
    expect(await accepts(token)).toBe(true);
  });
});

describe('the keys and the cache of the verifier', () => {
  it('never calls a token for ES256 invalid because a keys process that does not know it answered', async () => {
    const { accepts, fake, clock } = setUp(es256);
    const token = (jti: string) =>
      signedToken(es256, { ...header, alg: 'ES256', kid: es256.kid }, { ...claims, jti });
    fake.knowsRs256Alone = true;
    expect(await codeOf(accepts(token('a')))).toBe('temporarily_unavailable');
    expect(await accepts(signedToken(key, header, claims))).toBe(true);
    expect(await accepts(signedToken(key, { ...header, kid: 'key-9' }, claims))).toBe(false);
    fake.knowsRs256Alone = false;
    clock.advance(1001);
    expect(await accepts(token('a'))).toBe(true);
  });

  it('verifies with the last known keys while keys is unavailable, and never calls a token invalid because of it', async () => {
    const { accepts, fake, clock } = setUp();
    expect(await accepts(signedToken(key, header, claims))).toBe(true);
    fake.line.cut = true;
    clock.advance(120_000);
    expect(await accepts(signedToken(key, header, { ...claims, jti: 'another' }))).toBe(true);
    const unknown = signedToken(key, { ...header, kid: 'key-9' }, claims);
    clock.advance(1001);
    expect(await codeOf(accepts(unknown))).toBe('temporarily_unavailable');
    fake.line.cut = false;
    clock.advance(1001);
    expect(await accepts(unknown)).toBe(false);
  });

  it('is temporarily_unavailable before it has fetched any key', async () => {
    const { fake, accepts } = setUp();
    fake.line.cut = true;
    expect(await codeOf(accepts(signedToken(key, header, claims)))).toBe('temporarily_unavailable');
  });

  it('fails no caller because of the shorter timeout of the caller that fetched the keys first', async () => {
    const { accepts, fake } = setUp();
    const release = Promise.withResolvers<void>();
    fake.hold = release.promise;
    const token = signedToken(key, header, claims);
    const hurried = accepts(token, rootCall('hurried', 30));
    const patient = accepts(token, rootCall('patient'));
    expect(await codeOf(hurried)).toBe('temporarily_unavailable');
    release.resolve();
    expect(await patient).toBe(true);
    expect(fake.fetches).toBe(1);
  });

  it('keeps no caller waiting for the keys beyond its own timeout', async () => {
    const { accepts, fake } = setUp();
    const release = Promise.withResolvers<void>();
    fake.hold = release.promise;
    const token = signedToken(key, header, claims);
    const patient = accepts(token, rootCall('patient'));
    expect(await codeOf(accepts(token, rootCall('hurried', 30)))).toBe('temporarily_unavailable');
    release.resolve();
    expect(await patient).toBe(true);
  });

  it('never calls a token invalid because its caller gave up while the keys were fetched', async () => {
    const { accepts, fake } = setUp();
    const release = Promise.withResolvers<void>();
    fake.hold = release.promise;
    const caller = new AbortController();
    const given = accepts(signedToken(key, header, claims), rootCall('a-request', undefined, caller.signal));
    caller.abort();
    await expect(given).rejects.toThrow('the caller gave up');
    release.resolve();
  });

  it('verifies with the keys it has while newer ones are fetched, even for a caller without time left', async () => {
    const { accepts, verifier, fake, clock } = setUp();
    expect(await accepts(signedToken(key, header, claims))).toBe(true);
    clock.advance(61_000);
    const another = signedToken(key, header, { ...claims, jti: 'another' });
    const tooLate = () => {
      throw temporarilyUnavailable();
    };
    expect(await verifier.accessToken(another, tooLate)).toMatchObject({ jti: 'another' });
    await waitFor(() => expect(fake.fetches).toBe(2));
  });

  it('fetches a new key at its first token', async () => {
    const { accepts, fake, clock } = setUp();
    await accepts(signedToken(key, header, claims));
    const next = testKey('key-2');
    fake.keys = [next, key];
    clock.advance(1001);
    expect(await accepts(signedToken(next, { ...header, kid: 'key-2' }, claims))).toBe(true);
  });

  it('no longer accepts verified tokens once their key is withdrawn', async () => {
    const { accepts, fake, clock } = setUp();
    const token = signedToken(key, header, claims);
    expect(await accepts(token)).toBe(true);
    const next = testKey('key-2');
    fake.keys = [next];
    clock.advance(1001);
    expect(await accepts(signedToken(next, { ...header, kid: 'key-2' }, claims))).toBe(true);
    expect(await accepts(token)).toBe(false);
  });
});

describe('verification of ID token hints', () => {
  const idClaims = {
    iss: 'https://id.example',
    sub: 'ada',
    aud: 'web',
    exp: now - 1000,
    iat: now - 2000,
    sid: 's1',
  };
  const idHeader = { ...header, typ: 'JWT' };

  it('accepts an expired ID token of this server (OIDC RP-Initiated Logout section 2)', async () => {
    const { verifier } = setUp();
    const hint = await verifier.idToken(signedToken(key, idHeader, idClaims), () => ({}));
    expect(hint).toEqual({ iss: 'https://id.example', sub: 'ada', aud: 'web', sid: 's1' });
  });

  it('refuses an access token under any typ, a logout token, a foreign signature and claims of the wrong type', async () => {
    const { verifier } = setUp();
    const bad = [
      signedToken(key, header, { ...claims, sid: 's1' }),
      signedToken(key, idHeader, { ...claims, sid: 's1' }),
      signedToken(key, idHeader, { ...idClaims, client_id: 'web' }),
      signedToken(key, { ...idHeader, typ: 'logout+jwt' }, idClaims),
      signedToken(testKey('key-1'), idHeader, idClaims),
      signedToken(key, idHeader, { ...idClaims, aud: ['web'] }),
      signedToken(key, idHeader, { ...idClaims, sid: 1 }),
      signedToken(key, idHeader, { ...idClaims, iat: now + 11 }),
      signedToken(key, idHeader, 'null'),
    ];
    for (const token of bad) expect(await verifier.idToken(token, () => ({}))).toBeUndefined();
  });
});
