import { generateKeyPairSync } from 'node:crypto';
import { accessTokenHash } from '@tessera/oauth';
import { compactVerify, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { createSigner, signingKey } from './signer.ts';
import type { SigningInput } from './signer.ts';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = signingKey('RS256', 'a-kid', pair.privateKey);

function input(kind: SigningInput['kind'], claims: unknown): SigningInput {
  return { key, kind, payload: new TextEncoder().encode(JSON.stringify(claims)) };
}

describe('the signer', () => {
  it('makes compact JWS that a JOSE library verifies, one per input and in order (RFC 7515 §7.1)', async () => {
    const claims = Array.from({ length: 50 }, (_, index) => ({ sub: `user ${index} åäö`, index }));
    const tokens = await createSigner().sign(claims.map((claim) => input('accessToken', claim)));
    expect(tokens).toHaveLength(50);
    for (const [index, token] of tokens.entries()) {
      const verified = await compactVerify(token, pair.publicKey, { algorithms: ['RS256'] });
      expect(JSON.parse(new TextDecoder().decode(verified.payload))).toEqual(claims[index]);
    }
  });

  it('names algorithm, key and type in the header (RFC 9068 §2.1, OIDC Back-Channel Logout §2.4)', async () => {
    const kinds = ['accessToken', 'idToken', 'logoutToken'] as const;
    const tokens = await createSigner().sign(kinds.map((kind) => input(kind, {})));
    expect(tokens.map((token) => decodeProtectedHeader(token))).toEqual([
      { alg: 'RS256', kid: 'a-kid', typ: 'at+jwt' },
      { alg: 'RS256', kid: 'a-kid', typ: 'JWT' },
      { alg: 'RS256', kid: 'a-kid', typ: 'logout+jwt' },
    ]);
  });

  it('signs a payload that is part of a larger buffer', async () => {
    const payload = new TextEncoder().encode('xx{"sub":"a"}xx').subarray(2, 13);
    const [token = ''] = await createSigner().sign([{ key, kind: 'idToken', payload }]);
    const verified = await compactVerify(token, pair.publicKey);
    expect(new TextDecoder().decode(verified.payload)).toBe('{"sub":"a"}');
  });

  it('adds the hash of an earlier token to the claims of a later one (OIDC Core §3.1.3.6)', async () => {
    const claims = { iss: 'https://id.example', nonce: 'n', at_hash: 'of another' };
    const tokens = await createSigner().sign([
      input('accessToken', { sub: 'a' }),
      input('accessToken', { sub: 'b' }),
      { key, kind: 'idToken', claims, atHashOf: 1 },
      { key, kind: 'idToken', claims, atHashOf: 0 },
    ]);
    const hashes = [];
    for (const token of tokens.slice(2)) {
      const verified = await compactVerify(token, pair.publicKey, { algorithms: ['RS256'] });
      const read = JSON.parse(new TextDecoder().decode(verified.payload)) as Record<string, unknown>;
      expect(read).toMatchObject({ iss: 'https://id.example', nonce: 'n' });
      hashes.push(read['at_hash']);
    }
    expect(hashes).toEqual([accessTokenHash(tokens[1] ?? ''), accessTokenHash(tokens[0] ?? '')]);
  });

  it('signs each input with the algorithm of its key, in the form of JOSE (RFC 7518 §3.4)', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const es256 = signingKey('ES256', 'another-kid', privateKey);
    const claims = { iss: 'https://id.example' };
    const [accessToken = '', idToken = ''] = await createSigner().sign([
      { ...input('accessToken', { sub: 'a' }), key: es256 },
      { key, kind: 'idToken', claims, atHashOf: 0 },
    ]);
    expect(decodeProtectedHeader(accessToken)).toEqual({ alg: 'ES256', kid: 'another-kid', typ: 'at+jwt' });
    await compactVerify(accessToken, publicKey, { algorithms: ['ES256'] });
    const { payload } = await compactVerify(idToken, pair.publicKey, { algorithms: ['RS256'] });
    expect(JSON.parse(new TextDecoder().decode(payload))).toEqual({
      ...claims,
      at_hash: accessTokenHash(accessToken),
    });
  });

  it('refuses more than it can sign in time, and continues when the queue is shorter again', async () => {
    const signer = createSigner(3);
    const two = [input('idToken', {}), input('idToken', {})];
    const first = signer.sign(two);
    await expect(signer.sign(two)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await first;
    expect(await signer.sign(two)).toHaveLength(2);
  });
});
