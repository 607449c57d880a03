import { describe, expect, it } from 'vitest';
import type { BrowserCall } from '../browser-call.ts';
import { acceptedPasskeys } from './accepted-passkeys.ts';

const person = { tenantId: 'acme', tenantName: 'Acme', username: 'ada', name: 'Ada Lovelace' };
const names = { name: 'ada (Acme)', displayName: 'Ada Lovelace' };
const at = (issuer: string) => ({ browser: { issuer } }) as unknown as BrowserCall;
const told = async (
  passkeys: Parameters<typeof acceptedPasskeys>[2]['passkeys'],
  { issuer = 'https://id.example', domain = '', userHandle = 'h' } = {},
) => acceptedPasskeys({ passkeyDomain: async () => domain }, at(issuer), { person, passkeys, userHandle });

describe('what browsers are told of the passkeys of a person (WebAuthn L3 §5.1.10)', () => {
  it('are all that are left, by domain and handle', async () => {
    const passkeys = [
      { credentialId: 'one', rpId: 'id.example', userHandle: 'h' },
      { credentialId: 'two', rpId: 'id.example', userHandle: 'h' },
      { credentialId: 'three', rpId: 'id.example', userHandle: 'from elsewhere' },
      { credentialId: 'four', rpId: 'shared.example', userHandle: 'h' },
    ];
    expect(await told(passkeys)).toEqual([
      { rpId: 'id.example', userHandle: 'h', credentialIds: ['one', 'two'], ...names },
      { rpId: 'id.example', userHandle: 'from elsewhere', credentialIds: ['three'], ...names },
      { rpId: 'shared.example', userHandle: 'h', credentialIds: ['four'], ...names },
    ]);
  });

  it('are none where the last one was removed, which they are told, too', async () => {
    expect(await told([])).toEqual([{ rpId: 'id.example', userHandle: 'h', credentialIds: [], ...names }]);
    expect(await told([], { domain: 'shared.example' })).toMatchObject([{ rpId: 'shared.example' }]);
  });

  it('is nothing where browsers have no passkeys, or a directory of version 0.2 does not say whose they are', async () => {
    expect(await told([], { issuer: 'http://192.0.2.1' })).toEqual([]);
    expect(await told([{ credentialId: 'one', rpId: '', userHandle: '' }], { userHandle: '' })).toEqual([]);
  });
});
