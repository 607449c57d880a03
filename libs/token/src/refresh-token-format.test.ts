import { createSecretKey } from 'node:crypto';
import { systemRandom } from '@tessera/kit';
import { readsAsSecret, withoutTokens } from '@tessera/telemetry';
import { describe, expect, it } from 'vitest';
import { newFamilyId } from './refresh-token-format.ts';
import { createRefreshTokenCodec, parseRefreshKeys } from './refresh-token-format.ts';

const key = (version: number) => ({ version, key: createSecretKey(systemRandom.bytes(32)) });
const first = key(1);
const codec = createRefreshTokenCodec([first]);
const reference = { familyId: newFamilyId(systemRandom), generation: 3 };

describe('refresh tokens', () => {
  it('contain family and generation and nothing outside the MAC', () => {
    const token = codec.encode(reference);
    expect(token).toMatch(/^tr_[A-Za-z0-9_-]{71}$/);
    expect(codec.decode(token)).toEqual({ ...reference, isJwt: false });
    expect(codec.encode(reference)).toBe(token);
    expect(codec.encode({ ...reference, generation: 4 })).not.toBe(token);
  });

  it('are refused if any bit is changed', () => {
    const bytes = Buffer.from(codec.encode(reference).slice(3), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(codec.decode(`tr_${changed.toString('base64url')}`)).toBeUndefined();
    }
  });

  it('are accepted in one spelling only', () => {
    const token = codec.encode(reference);
    const lastCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sameBytes = [...lastCharacters].map((last) => token.slice(0, -1) + last);
    expect(sameBytes.filter((spelling) => codec.decode(spelling) !== undefined)).toEqual([token]);
    const around = [
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      `${token} `,
      `${token}\n`,
      token.toUpperCase(),
      '',
      'tr_',
    ];
    const prefixed = [token.replace('tr_', 'tc_'), token.replace('tr_', ''), encodeURIComponent(`${token}/`)];
    const shorter = Array.from({ length: token.length }, (_, length) => token.slice(0, length));
    const broken = shorter.map((start) => `${start}\u0000${token.slice(start.length + 1)}`);
    const misspelt = [...around, ...prefixed, ...shorter, ...broken];
    for (const spelling of misspelt) expect(codec.decode(spelling)).toBeUndefined();
  });

  it('are signed by the first key and verified by all, so that keys can be rotated without interruption', () => {
    const second = key(2);
    const old = codec.encode(reference);
    const changing = createRefreshTokenCodec([second, first]);
    expect(changing.decode(old)).toEqual({ ...reference, isJwt: false });
    expect(codec.decode(changing.encode(reference))).toBeUndefined();
    expect(createRefreshTokenCodec([second]).decode(old)).toBeUndefined();
    expect(createRefreshTokenCodec([key(1)]).decode(old)).toBeUndefined();
  });

  it('are refused with a generation that no family can have', () => {
    for (const generation of [0, 0x7fffffff, 0xffffffff]) {
      expect(codec.decode(codec.encode({ ...reference, generation }))).toBeUndefined();
    }
  });
});

describe('refresh tokens in the form of a JWT', () => {
  const claims = {
    typ: 'Refresh',
    exp: 2_000_000_000,
    iat: 1_999_999_000,
    jti: 'family.3',
    iss: 'https://sso.example/realms/harbour',
    aud: 'https://sso.example/realms/harbour',
    sub: 'ada',
    azp: 'shop',
    sid: 'session-1',
    scope: 'openid',
  } as const;
  const token = codec.encode(reference, claims);

  it('are what `keycloak-js` decodes: three parts, of which the second has the claims (RFC 7519 section 3)', () => {
    const parts = token.split('.');
    const part = (at: number) => JSON.parse(Buffer.from(parts[at] ?? '', 'base64url').toString()) as unknown;
    expect(parts).toHaveLength(3);
    expect(part(1)).toEqual(claims);
    expect(parts[2]).toMatch(/^[A-Za-z0-9_-]{71}$/);
    expect(codec.decode(token)).toEqual({ ...reference, isJwt: true });
    expect(codec.encode(reference, claims)).toBe(token);
  });

  it('are signed by nobody: no algorithm or type of theirs is one that a verifier takes (RFC 8725 section 3.11)', () => {
    const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as object;
    expect(header).toEqual({ alg: 'tessera-refresh', typ: 'refresh+jwt' });
  });

  it('are refused if any character is changed, left out or added', () => {
    const other = (character: string) => (character === 'A' ? 'B' : 'A');
    for (let at = 0; at < token.length; at += 1) {
      const [before, character = '', after] = [token.slice(0, at), token[at], token.slice(at + 1)];
      for (const spelling of [
        before + other(character) + after,
        before + after,
        `${before}A${character}${after}`,
      ])
        expect(codec.decode(spelling)).toBeUndefined();
    }
    for (const spelling of [`${token}=`, `${token}.`, `.${token}`, ` ${token}`, token.replace('.', '..')])
      expect(codec.decode(spelling)).toBeUndefined();
  });

  it('take nothing from another token: neither the claims nor the secret', () => {
    const [header = '', , secret = ''] = token.split('.');
    const later = codec.encode({ ...reference, generation: 4 }, { ...claims, exp: claims.exp + 1 });
    const [, payload = ''] = later.split('.');
    const opaque = codec.encode(reference);
    for (const mixed of [
      `${header}.${payload}.${secret}`,
      `${header}.${payload}.${opaque.slice(3)}`,
      `tr_${secret}`,
    ])
      expect(codec.decode(mixed)).toBeUndefined();
  });

  it('are not in a log', () => {
    expect(withoutTokens(`refused ${token}, sent again`)).toBe('refused [redacted], sent again');
    expect(readsAsSecret(`refused ${token}`)).toBe(true);
  });
});

describe('the setting of the refresh token keys', () => {
  const bytes = systemRandom.bytes(32).toString('base64');

  it('lists keys by version, the signing one first', () => {
    const keys = parseRefreshKeys(`2:${bytes}, 1:${systemRandom.bytes(32).toString('base64')}`);
    expect(keys?.map(({ version }) => version)).toEqual([2, 1]);
  });

  it('is refused when a key is too short, a version is missing, twice or out of range', () => {
    const short = systemRandom.bytes(31).toString('base64');
    for (const text of [
      '',
      bytes,
      `1:${short}`,
      `0:${bytes}`,
      `256:${bytes}`,
      `1:${bytes},1:${bytes}`,
      `1:${bytes},`,
    ]) {
      expect(parseRefreshKeys(text)).toBeUndefined();
    }
  });
});
