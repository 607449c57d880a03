import { randomBytes } from 'node:crypto';
import { decodeAttestationObject, parseAuthenticatorData } from '@simplewebauthn/server/helpers';
import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { SoftwareAuthenticator, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';

let database: Database;
let count = 0;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const rpId = 'sso.example';
const newChallenge = () => randomBytes(32).toString('base64url');
const userHandle = Buffer.from('9e1b').toString('base64url');

/** A passkey that was made elsewhere, and what a file says of it. */
function madeElsewhere(isSynced = false) {
  const key = new SoftwareAuthenticator(`https://${rpId}`, isSynced);
  const options = { challenge: newChallenge(), rp: { id: rpId }, user: { id: userHandle } };
  const { response } = JSON.parse(key.create(JSON.stringify(options))) as {
    readonly response: { readonly attestationObject: string };
  };
  const attestation = new Uint8Array(Buffer.from(response.attestationObject, 'base64url'));
  const { credentialPublicKey = new Uint8Array() } = parseAuthenticatorData(
    decodeAttestationObject(attestation).get('authData'),
  );
  const publicKey = Buffer.from(credentialPublicKey).toString('base64url');
  return { key, declared: { credentialId: key.credentialId, publicKey, userHandle, rpId } };
}

/** A tenant at that host. */
async function world() {
  const { files, api, as } = startDirectory(database);
  const authorize = as('authorize');
  const tenantId = `k${(count += 1)}`;
  const issuer = `https://${rpId}/realms/${tenantId}`;
  const apply = async (user: object, users: readonly object[] = []) => {
    const everybody = [{ username: 'ada', ...user }, ...users];
    const document = JSON.stringify({
      tenants: [{ id: tenantId, name: 'Harbour', issuer, users: everybody }],
    });
    const { tenants } = await files.apply({ document, fileName: 'state.yaml' }, call());
    return `${tenants[0]?.created} ${tenants[0]?.updated}`;
  };
  const person = async () => {
    const { users } = await api.users.list({ tenantId, search: 'ada' }, call());
    return { tenantId, userId: users[0]?.userId ?? '' };
  };
  return {
    api,
    apply,
    person,
    credentials: async () => api.users.getCredentials(await person(), call()),
    async signIn(key: SoftwareAuthenticator, deviation = {}) {
      const ceremony = { rpId, origin: `https://${rpId}`, challenge: newChallenge() };
      const response = key.get(ceremony, deviation);
      const { user, synced } = await authorize.verifyPasskey(
        { tenantId, userId: '', ceremony, response },
        call(),
      );
      return user && { username: user.username, synced };
    },
  };
}

describe('a declared passkey', () => {
  it.each([false, true])(
    'signs its person in; synced: %s, which its first use tells (WebAuthn L3 §6.1.3)',
    async (synced) => {
      const { apply, credentials, signIn } = await world();
      const { key, declared } = madeElsewhere(synced);
      expect(await apply({ passkeys: [declared] })).toBe('2 0');
      expect(await credentials()).toMatchObject({ waysIn: ['passkey'], passkeys: [{ synced: false }] });
      for (let time = 0; time < 2; time += 1) expect(await signIn(key)).toEqual({ username: 'ada', synced });
      expect(await credentials()).toMatchObject({ passkeys: [{ synced, passkeyId: key.credentialId }] });
      expect(await signIn(key, { flags: synced ? 0x05 : 0x0d, signCount: 99 })).toBeUndefined();
    },
  );

  it('is refused with another key, an old counter, or without user verification (WebAuthn L3 §7.2)', async () => {
    const { apply, signIn } = await world();
    const { key, declared } = madeElsewhere();
    await apply({ passkeys: [{ ...declared, signCount: 50 }] });
    expect(await signIn(key, { otherKey: true, signCount: 60 })).toBeUndefined();
    expect(await signIn(key, { flags: 0x01, signCount: 60 })).toBeUndefined();
    expect(await signIn(key, { signCount: 50 })).toBeUndefined();
    expect(await signIn(key, { signCount: 51 })).toEqual({ username: 'ada', synced: false });
  });

  it('is given once: what was removed stays away, further ones come, and nobody gets that of another', async () => {
    const { api, apply, credentials, person, signIn } = await world();
    const [first, second] = [madeElsewhere(), madeElsewhere()];
    await apply({ passkeys: [first.declared] });
    expect(await apply({ passkeys: [first.declared] })).toBe('0 0');
    await api.users.deleteCredential(
      { ...(await person()), credential: { case: 'passkeyId', value: first.key.credentialId } },
      call(),
    );
    expect(await apply({ passkeys: [first.declared, second.declared] })).toBe('0 1');
    expect((await credentials()).passkeys.map(({ passkeyId }) => passkeyId)).toEqual([
      second.key.credentialId,
    ]);
    expect(await apply({}, [{ username: 'bob', passkeys: [second.declared] }])).toBe('1 0');
    expect(await signIn(second.key)).toEqual({ username: 'ada', synced: false });
  });

  it('is taken away by an empty list, comes again if it is declared, and one that she set up stays', async () => {
    const { apply, person, signIn } = await world();
    const [declared, own] = [madeElsewhere(), madeElsewhere()];
    await apply({ passkeys: [declared.declared] });
    const { tenantId, userId } = await person();
    const { credentialId, publicKey } = own.declared;
    await database.query({
      name: 'test.own_passkey',
      text: `INSERT INTO directory.passkey (tenant_id, credential_id, user_id, user_handle, rp_id, public_key, sign_count,
               transports, synced, backed_up, name)
             VALUES ($1, $2, $3, $4, $5, decode($6, 'hex'), 0, '{}', false, false, 'Own')`,
      values: [
        tenantId,
        credentialId,
        userId,
        userHandle,
        rpId,
        Buffer.from(publicKey, 'base64url').toString('hex'),
      ],
    });
    expect(await apply({})).toBe('0 0');
    expect(await signIn(declared.key)).toMatchObject({ username: 'ada' });
    expect(await apply({ passkeys: [] })).toBe('0 1');
    expect(await signIn(declared.key)).toBeUndefined();
    expect(await signIn(own.key)).toMatchObject({ username: 'ada' });
    expect(await apply({ passkeys: [] })).toBe('0 0');
    expect(await apply({ passkeys: [declared.declared] })).toBe('0 1');
    expect(await signIn(declared.key)).toMatchObject({ username: 'ada' });
  });

  it.each([
    ['a key of another algorithm', { publicKey: 'pQECAzgiIAE' }, 'publicKey: must be the COSE key'],
    ['what is no key', { publicKey: 'AAAA' }, 'publicKey: must be the COSE key'],
    ['another host', { rpId: 'other.example' }, 'rpId: must be the host of the issuer'],
  ])('is refused with %s', async (_, difference, message) => {
    const { apply } = await world();
    const passkeys = [{ ...madeElsewhere().declared, ...difference }];
    const refused = await apply({ passkeys }).catch((error: unknown) => String(error));
    expect(refused).toContain(`users[0].passkeys[0].${message}`);
  });
});
