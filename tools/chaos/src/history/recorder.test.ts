import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Answer } from '@tessera/test-client';
import { SeenKeys } from './keys.ts';
import { outcomeOf, Recorder } from './recorder.ts';

function keyPair(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid } };
}

function signed(kid: string, key: KeyObject, alg = 'RS256'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg, kid })}.${part({ sub: 'usr_1' })}`;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

function answer(status: number, body?: object, headers: Record<string, string> = {}): Answer {
  const all: Record<string, string> =
    body === undefined ? headers : { 'content-type': 'application/json', ...headers };
  const text = JSON.stringify(body ?? '');
  return {
    status,
    headers: all,
    text,
    json: () => body as Record<string, unknown>,
    header: (name) => all[name],
  };
}

describe('what is held of an answer', () => {
  it.each([
    ['good', answer(200, { isSuccess: true })],
    ['waiting', answer(400, { error: 'authorization_pending' })],
    ['unavailable', answer(429, { error: 'slow_down' })],
    ['refused', answer(400, { error: 'invalid_grant' })],
    ['refused', answer(401, { error: 'invalid_client' })],
    ['sent-away', answer(302, undefined, { location: '/login' })],
    ['unavailable', answer(503, { error: 'temporarily_unavailable' })],
    ['failed', answer(500, { error: 'server_error' })],
    ['failed', answer(502)],
  ] as const)('is %s (case %#)', (result, given) => {
    expect(outcomeOf(given).result).toBe(result);
  });

  it('is that it was lost where none came, under the id it was sent with', async () => {
    const recorder = new Recorder();
    const facts = { kind: 'keys', actor: 'a', tenant: 't', clientId: 'c', person: '' } as const;
    let sentAs = '';
    await recorder.record(
      facts,
      0,
      async (id) => {
        sentAs = id;
        throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      },
      () => ({ outcome: { result: 'good', status: 200 } }),
    );
    const [operation] = recorder.operations;
    expect(operation).toMatchObject({ id: sentAs, outcome: { result: 'lost', error: 'ECONNRESET' } });
  });

  it('is that a token verifies only by a key that a key set has shown before', () => {
    const [known, other] = [keyPair('k1'), keyPair('k2')];
    const keys = new SeenKeys();
    expect(keys.verifies(signed('k1', known.privateKey))).toBe(false);
    expect(keys.add({ keys: [known.jwk] })).toEqual(['k1']);
    expect(keys.verifies(signed('k1', known.privateKey))).toBe(true);
    expect(keys.verifies(signed('k1', other.privateKey))).toBe(false);
    expect(keys.verifies(signed('k2', other.privateKey))).toBe(false);
    expect(keys.verifies(signed('k1', known.privateKey, 'none'))).toBe(false);
  });
});
