import { describe, expect, it } from 'vitest';
import { publicJwk } from './public-jwk.ts';

describe('a published key', () => {
  it('has the members that a verifier needs, in their order, and no other (RFC 7517 section 4)', () => {
    const key = { kty: 'RSA', e: 'AQAB', n: 'bg', d: 'private', alg: 'none' };
    expect(JSON.stringify(publicJwk('RS256', 'k1', key))).toBe(
      '{"kty":"RSA","use":"sig","alg":"RS256","kid":"k1","n":"bg","e":"AQAB"}',
    );
  });

  it('is never one without a member of its key type', () => {
    expect(() => publicJwk('RS256', 'k1', { n: 'bg', e: '' })).toThrow('a key for RS256 has no e');
  });
});
