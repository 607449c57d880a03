import type { ReadAssertion } from '@tessera/oauth';
import { describe, expect, it } from 'vitest';
import { createKeySources } from './key-sources.ts';
import { candidates } from './signatures.ts';

const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'k', alg: 'ES256', use: 'sig' };

/** What is kept of a document. */
async function keptOf(document: unknown) {
  const fetch = async () => new Response(JSON.stringify(document));
  const sources = createKeySources({
    configured: new Map(),
    fetch,
    fetchConfigured: fetch,
    allowsPrivate: false,
    cluster: undefined,
  });
  return (await sources.at('https://keys.example').load()).keys;
}

describe('a JWK Set of somebody else', () => {
  it('is kept without what no signature is verified with, and without keys of anything but short texts', async () => {
    const nested = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`) as unknown;
    const wrong = [
      { ...key, kid: 5 },
      { ...key, x: nested },
      { ...key, y: 'y'.repeat(1_001) },
      { ...key, kid: '\0' },
      null,
      'key',
    ];
    const kept = await keptOf({ keys: [{ ...key, x5c: ['c'.repeat(9_000)], nested }, ...wrong] });
    expect(kept).toEqual([key]);
  });

  it.each([
    ['more than a hundred keys', { keys: Array(101).fill(null) }, /more than 100 keys/],
    ['an object in place of the list', { keys: { length: 1 } }, /no JWK Set/],
    ['no list', {}, /no JWK Set/],
    ['nothing', null, /no JWK Set/],
  ])('is refused with %s', async (_, document, message) => {
    await expect(keptOf(document)).rejects.toThrow(message);
  });
});

it('names the host that is asked, however many sources are there', () => {
  const fetch = async () => new Response();
  const given = {
    configured: new Map(),
    fetch,
    fetchConfigured: fetch,
    allowsPrivate: false,
    cluster: undefined,
  };
  const sources = createKeySources(given);
  const all = [
    sources.at('https://a.example/1'),
    sources.at('https://a.example/2'),
    sources.ofIssuer('https://a.example'),
  ];
  expect(all.map((source) => source?.server)).toEqual(Array(3).fill('a.example'));
});

describe('the keys that are tried', () => {
  const header = { alg: 'RS256', kid: 'k' };
  const rsa = (bytes: number, e = 'AQAB') => ({
    kty: 'RSA',
    kid: 'k',
    n: Buffer.alloc(bytes, 0xff).toString('base64url'),
    e,
  });

  it.each([
    ['2,048 bits', rsa(256), 1],
    ['4,096 bits', rsa(512), 1],
    ['2,040 bits', rsa(255), 0],
    ['4,104 bits, which are dearer than usual', rsa(513), 0],
    ['an e of 4 bytes', rsa(256, Buffer.alloc(4, 1).toString('base64url')), 1],
    ['an e of 5 bytes', rsa(256, Buffer.alloc(5, 1).toString('base64url')), 0],
    ['an e of 256 bytes', rsa(256, Buffer.alloc(256, 0xff).toString('base64url')), 0],
  ])('of %s', (_, jwk, count) => {
    expect(candidates([jwk], { header } as unknown as ReadAssertion)).toHaveLength(count);
  });
});
