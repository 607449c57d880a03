import { expect, it } from 'vitest';
import { moved, type Part } from '../../../testing/moved-realm.ts';

const id = Buffer.from([0xfb, 0xff, 1, 2]);
const key = Buffer.from([0xa5, 1, 2, 3, 0x26, 0x3e, 0xff]);
const credential = (data: Part = {}) => ({
  type: 'webauthn-passwordless',
  secretData: '{}',
  credentialData: JSON.stringify({
    aaguid: '00000000-0000-0000-0000-000000000000',
    // Keycloak has the one in one alphabet and the other in the other.
    credentialId: id.toString('base64'),
    credentialPublicKey: key.toString('base64url'),
    counter: 3,
    attestationStatementFormat: 'none',
    transports: ['usb', 'internal', 'from-the-future'],
    ...data,
  }),
});
const password = { type: 'password', value: 'correct horse' };
const flow = (...steps: readonly Part[]) => ({
  browserFlow: 'mine',
  authenticationFlows: [
    { alias: 'mine', authenticationExecutions: [{ flowAlias: 'forms', requirement: 'ALTERNATIVE' }] },
    { alias: 'forms', authenticationExecutions: steps },
  ],
});
const step = { authenticator: 'webauthn-authenticator-passwordless', requirement: 'ALTERNATIVE' };

function personOf(ofRealm: Part, ...credentials: readonly Part[]) {
  const users = [{ id: '9e1b', username: 'ada', credentials: [password, ...credentials] }];
  const { records, leftOut } = moved({ ...ofRealm, users });
  const [user] = records.users;
  return { passkeys: user?.['passkeys'], password: user?.['password'], leftOut };
}

it('passkeys come where people sign in with them alone, beside the password and without a line', () => {
  const passkey = {
    credentialId: id.toString('base64url'),
    publicKey: key.toString('base64url'),
    userHandle: Buffer.from('9e1b').toString('base64url'),
    signCount: 3,
    transports: ['internal', 'usb'],
  };
  for (const ofRealm of [flow(step), { webAuthnPolicyPasswordlessPasskeysEnabled: true }]) {
    const { leftOut, ...found } = personOf(ofRealm, credential());
    expect(found).toEqual({ passkeys: [passkey], password: 'correct horse' });
    expect(leftOut.filter((line) => line.includes('user ada'))).toEqual([]);
  }
  const ofDomain = { ...flow(step), webAuthnPolicyPasswordlessRpId: 'example.com' };
  expect(personOf(ofDomain, credential()).passkeys).toEqual([{ ...passkey, rpId: 'example.com' }]);
});

it('people with a passkey or a sign-in by a provider need no link where the file has no password', () => {
  const federatedIdentities = [{ identityProvider: 'corp', userId: 'ada at corp' }];
  const linesOf = (ofPerson: Part) =>
    moved({
      ...flow(step),
      identityProviders: [{ alias: 'corp', providerId: 'oidc', config: { issuer: 'https://corp.example' } }],
      users: [{ id: '9e1b', username: 'ada', ...ofPerson }],
    }).leftOut.filter((line) => line.startsWith('password of'));
  const none = 'password of user ada: there is none in the file';
  for (const ofPerson of [{ credentials: [credential()] }, { federatedIdentities }])
    expect(linesOf(ofPerson)).toEqual([none]);
  const asked = { requiredActions: ['VERIFY_EMAIL'] };
  for (const ofPerson of [{}, { credentials: [credential()], ...asked }, { federatedIdentities, ...asked }])
    expect(linesOf(ofPerson)).toEqual([`${none}; they need a link to set one`]);
});

it('passkeys do not come where nobody signs in with them alone, and neither do security keys', () => {
  for (const ofRealm of [{}, flow({ ...step, requirement: 'DISABLED' })]) {
    const { passkeys, leftOut } = personOf(ofRealm, credential());
    // An earlier import may have brought some, which go.
    expect(passkeys).toEqual([]);
    expect(leftOut).toContain('passkey of user ada: nobody signs in with one there');
  }
  const found = personOf(flow(step), { ...credential(), type: 'webauthn' }, credential({ credentialId: '' }));
  expect([found.passkeys, found.password]).toEqual([undefined, undefined]);
  expect(found.leftOut).toEqual(
    expect.arrayContaining([
      'security key of user ada: has no counterpart, so the password is left out too; they need a link to set one',
      'passkey of user ada: is not in the file',
    ]),
  );
});

it('passkeys and sign-ins by providers come only with those who need not verify their address first', () => {
  const email = 'ada@acme.example';
  const asked = { requiredActions: ['VERIFY_EMAIL'] };
  const found = (verifyEmail: boolean, ofPerson: Part) => {
    const federatedIdentities = [{ identityProvider: 'corp', userId: 'ada at corp' }];
    const credentials = [password, credential()];
    const { records, leftOut } = moved({
      ...flow(step),
      verifyEmail,
      identityProviders: [{ alias: 'corp', providerId: 'oidc', config: { issuer: 'https://corp.example' } }],
      users: [{ id: '9e1b', username: 'ada', credentials, federatedIdentities, ...ofPerson }],
    });
    const [{ passkeys, identities } = {}] = records.users;
    return { passkeys, identities, lines: leftOut.filter((line) => line.includes('user ada')) };
  };
  for (const [verifyEmail, ofPerson] of [
    [true, { email }],
    [false, { email, emailVerified: true, ...asked }],
    [false, asked],
  ] as const) {
    const { lines, ...ways } = found(verifyEmail, ofPerson);
    // An earlier import may have brought some, which go.
    expect(ways).toEqual({ passkeys: [], identities: [] });
    expect(lines).toEqual(
      expect.arrayContaining([
        'passkeys of user ada: they must verify their address first',
        'sign-in by corp of user ada: they must verify their address first',
      ]),
    );
  }
  for (const [verifyEmail, ofPerson] of [
    [true, { email, emailVerified: true }],
    [true, {}],
    [false, { email }],
  ] as const)
    expect(found(verifyEmail, ofPerson)).toEqual({
      passkeys: [expect.objectContaining({ credentialId: id.toString('base64url') })],
      identities: [{ provider: 'corp', issuer: 'https://corp.example', subject: 'ada at corp' }],
      lines: [],
    });
});
