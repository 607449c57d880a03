import { Secret, systemRandom } from '@tessera/kit';
import { publicJwk } from '@tessera/oauth';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { generateSigningKey } from './key-pair.ts';
import { aesKeyWrapper } from './key-wrapper.ts';

const wrapper = aesKeyWrapper(new Secret(systemRandom.bytes(32).toString('base64')), systemRandom);

describe('generateSigningKey', () => {
  it.each(['tc_hgB5j-8dH-CxTegCI2LfYPrctIAPDMImGGqYVJvw', 'hgB5j-tr_8dHCxTegCI2LfYPrctIAPDMImGGqYVJvw_'])(
    'uses no key whose thumbprint (RFC 7638) the log would hide, such as %s',
    async (hidden) => {
      const thumbprints = [hidden];
      const key = await generateSigningKey(
        'ES256',
        wrapper,
        async (jwk, digest) => thumbprints.pop() ?? calculateJwkThumbprint(jwk, digest),
      );
      expect(key.kid).not.toBe(hidden);
      const jwk = publicJwk('ES256', key.kid, key.publicMembers);
      expect(key.kid).toBe(await calculateJwkThumbprint(jwk, 'sha256'));
    },
  );
});
