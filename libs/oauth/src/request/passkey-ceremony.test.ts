import { describe, expect, it } from 'vitest';
import { credentialOf, longestPasskeyResponse, passkeyCeremony } from './passkey-ceremony.ts';

const at = { issuer: 'https://id.example/tenant', secret: 'a secret', domain: '' };

describe('a ceremony of passkeys (WebAuthn L3 §13.4)', () => {
  it('is for the host of the issuer, or the domain that is named, and for its origin alone', () => {
    expect(passkeyCeremony(at, 'get', 'n')).toMatchObject({
      rpId: 'id.example',
      origin: 'https://id.example',
    });
    expect(passkeyCeremony({ ...at, domain: 'example' }, 'get', 'n')?.rpId).toBe('example');
  });

  it('has a challenge of its own for each secret, use and nonce', () => {
    const challenges = [
      passkeyCeremony(at, 'get', 'n'),
      passkeyCeremony(at, 'create', 'n'),
      passkeyCeremony(at, 'get', 'm'),
      passkeyCeremony({ ...at, secret: 'another' }, 'get', 'n'),
    ].map((ceremony) => ceremony?.challenge);
    expect(new Set(challenges).size).toBe(4);
    expect(passkeyCeremony(at, 'get', 'n')?.challenge).toBe(challenges[0]);
    expect(challenges[0]).toMatch(/^[\w-]{43}$/);
  });

  it.each([
    'http://id.example',
    'http://127.0.0.1:8080',
    'https://127.0.0.1',
    'https://[::1]',
    'https://1',
    '',
  ])('is none at %j, where browsers have none (§5.1.2)', (issuer) =>
    expect(passkeyCeremony({ ...at, issuer }, 'get', 'n')).toBeUndefined(),
  );

  it.each(['http://localhost:8080', 'http://acme.localhost'])('is one at %s', (issuer) => {
    expect(passkeyCeremony({ ...at, issuer }, 'get', 'n')).toBeDefined();
  });

  it('is none without a secret, or with a nonce that is none of ours', () => {
    expect(passkeyCeremony({ ...at, secret: '' }, 'get', 'n')).toBeUndefined();
    for (const nonce of ['', 'n'.repeat(65)]) expect(passkeyCeremony(at, 'get', nonce)).toBeUndefined();
  });
});

describe('the identifier of the passkey that a response is of (WebAuthn L3 §5.1)', () => {
  it.each([
    ['{"id":"a-_9"}', 'a-_9'],
    ['{"x":{"id":"other"},"id":"mine"}', 'mine'],
    ['{"id":"other","id":"mine"}', 'mine'],
    [`{"id":"${'a'.repeat(1364)}"}`, 'a'.repeat(1364)],
    [`{"id":"${'a'.repeat(1365)}"}`, undefined],
    ['{"x":{"id":"other"}}', undefined],
    ['{"id":"a b"}', undefined],
    ['{"id":"a\\n"}', undefined],
    ['{"id":""}', undefined],
    ['{"id":["mine"]}', undefined],
    ['["id"]', undefined],
    ['null', undefined],
    ['"id":"mine"', undefined],
    ['', undefined],
  ])('of %j is %j', (text, id) => expect(credentialOf(text)).toBe(id));

  it('is not looked for in a text that is too long', () => {
    const rest = longestPasskeyResponse - '{"id":"a"}'.length;
    expect(credentialOf(`{"id":"a"${' '.repeat(rest)}}`)).toBe('a');
    expect(credentialOf(`{"id":"a"${' '.repeat(rest + 1)}}`)).toBeUndefined();
  });
});
