import { describe, expect, it } from 'vitest';
import { moved, type Part } from '../../../testing/moved-realm.ts';
import { withheldPassword } from '@tessera/directory';

/** What is declared of the password of a person. */
const passwordOf = (user: Part) => user['password'] ?? user['passwordHash'];

describe('people', () => {
  it('of a user federation are named, as they sign in by another way here', () => {
    const { leftOut } = moved({ users: [{ username: 'ada', federationLink: 'a5f1-ldap' }] });
    expect(leftOut).toContain(
      'user federation of user ada: has no counterpart; they sign in with a password of their own',
    );
  });

  it('keep their names, addresses, attributes and identifier', () => {
    const { records } = moved({
      users: [
        {
          id: '9e1b',
          username: 'ada',
          email: 'ada@acme.example',
          emailVerified: true,
          firstName: 'Ada',
          lastName: 'Lovelace',
          enabled: false,
          attributes: { team: ['sea'], desks: ['1', '2'], none: [''], locale: ['sv'], street: ['Quay 1'] },
        },
      ],
    });
    expect(records.users).toEqual([
      {
        username: 'ada',
        userId: '9e1b',
        email: 'ada@acme.example',
        emailVerified: true,
        name: 'Ada Lovelace',
        givenName: 'Ada',
        familyName: 'Lovelace',
        status: 'disabled',
        roles: [],
        locale: 'sv',
        address: { streetAddress: 'Quay 1' },
        attributes: { team: 'sea', desks: ['1', '2'], keycloakId: '9e1b' },
      },
    ]);
  });

  it('are disabled unless the file says that they are not, as Keycloak reads it', () => {
    const { records } = moved({
      users: [{ username: 'ada', enabled: true }, { username: 'bob', enabled: false }, { username: 'carol' }],
    });
    expect(records.users.map(({ status }) => status)).toEqual([undefined, 'disabled', 'disabled']);
  });

  it('lose other ways to sign in and required actions, each with a line', () => {
    const { records, leftOut } = moved({
      users: [
        {
          username: 'bob',
          email: 'bob@acme.example',
          emailVerified: true,
          credentials: [{ type: 'webauthn-passwordless' }, { type: 'password', value: 'correct horse' }],
          federatedIdentities: [{ identityProvider: 'github' }],
          requiredActions: ['VERIFY_EMAIL', 'CONFIGURE_TOTP'],
        },
        { username: 'dora', credentials: [{ type: 'password' }] },
        { username: 'eve' },
      ],
    });
    expect(records.users[0]).toMatchObject({ passwordHash: withheldPassword, emailVerified: false });
    expect(leftOut).toEqual([
      'sign-in by github of user bob: has no counterpart',
      'VERIFY_EMAIL of user bob: their address comes as not verified',
      'CONFIGURE_TOTP of user bob: has no counterpart',
      'passkey of user bob: nobody signs in with one there',
      'password of user bob: they must verify their address; they need a link, which proves it',
      'password of user dora: is not in the file',
      'password of user eve: there is none in the file; they need a link to set one',
    ]);
  });

  it('with a second factor come without their password, unless it is accepted that it signs in alone', () => {
    const password = { type: 'password', value: 'correct horse' };
    const users = ['otp', 'totp', 'webauthn', 'recovery-authn-codes', 'of-a-plug-in'].map((type) => ({
      username: type,
      credentials: [password, { type }],
    }));
    const { records, leftOut } = moved({ users });
    expect(records.users.map(passwordOf)).toEqual(users.map(() => withheldPassword));
    expect(leftOut[0]).toBe(
      'one-time password of user otp: is not in the file, so the password is left out too; they need a link to set one',
    );
    expect(leftOut).toHaveLength(users.length);
    const accepted = moved({ users }, { acceptsWider: true });
    expect(accepted.records.users.map(passwordOf)).toEqual(users.map(() => 'correct horse'));
    expect(accepted.leftOut[0]).toBe(
      'one-time password of user otp: is not in the file; the password alone signs in',
    );
  });

  it('whose password would not have let them in come without it, whatever is accepted', () => {
    const password = { type: 'password', value: 'correct horse' };
    const { records, leftOut } = moved(
      {
        users: [
          { username: 'ada', credentials: [{ ...password, temporary: true }] },
          { username: 'bob', credentials: [password], requiredActions: ['UPDATE_PASSWORD'] },
          { username: 'carol', credentials: [password], federationLink: 'ldap' },
          { username: 'dora', credentials: [password], requiredActions: ['VERIFY_EMAIL'] },
        ],
      },
      { acceptsWider: true },
    );
    expect(records.users.map(passwordOf)).toEqual(records.users.map(() => withheldPassword));
    expect(leftOut).toEqual([
      'password of user ada: is a temporary one; they need a link to set one',
      'password of user bob: they have to set a new one, for which they need a link',
      'user federation of user carol: has no counterpart; they sign in with a password of their own',
      'VERIFY_EMAIL of user dora: their address comes as not verified',
      'password of user dora: they must verify their address; they need a link, which proves it',
    ]);
  });

  it.each(['${PASSWORD_OF_ADA}', '$(env:PASSWORD_OF_ADA)'])(
    'never have the placeholder %s as their password',
    (value) => {
      const credentials = [{ type: 'password', value }];
      const { records, leftOut } = moved({ users: [{ username: 'ada', credentials }] });
      expect(records.users.map(passwordOf)).toEqual([withheldPassword]);
      expect(leftOut).toEqual(['password of user ada: is a placeholder']);
    },
  );

  it('keep what they sign in with at providers by OpenID Connect, which are to be declared here', () => {
    const provider = (alias: string, more: Part = {}) => ({ alias, providerId: 'oidc', ...more });
    const federatedIdentities = ['corp', 'off', 'linked', 'github', 'Ünder'].map((identityProvider) => ({
      identityProvider,
      userId: `ada at ${identityProvider}`,
      userName: 'ada',
    }));
    const { records, leftOut, toDoOfTenant } = moved({
      identityProviders: [
        provider('corp', { config: { issuer: 'https://corp.example' } }),
        provider('off', { enabled: false }),
        provider('linked', { linkOnly: true }),
        provider('github', { providerId: 'github' }),
        provider('Ünder'),
      ],
      users: [{ username: 'ada', federatedIdentities }],
    });
    expect(records.users[0]?.['identities']).toEqual([
      { provider: 'corp', issuer: 'https://corp.example', subject: 'ada at corp' },
    ]);
    expect(toDoOfTenant).toEqual([
      'identity provider corp: its client is not in the file; declare a provider of this name, and import again: its links come then',
    ]);
    expect(leftOut).toEqual(
      expect.arrayContaining([
        'identity provider off: nobody signs in with it there',
        'identity provider linked: nobody signs in with it there',
        'identity provider github: has no counterpart',
        'identity provider Ünder: no provider may have this name',
        ...['off', 'linked', 'github', 'Ünder'].map(
          (alias) => `sign-in by ${alias} of user ada: has no counterpart`,
        ),
      ]),
    );
  });

  it('lose those that an earlier import brought where nobody signs in with the provider by now', () => {
    const federatedIdentities = [{ identityProvider: 'corp', userId: 'ada at corp' }];
    const identitiesOf = (...identityProviders: readonly Part[]) =>
      moved({
        identityProviders,
        users: [{ username: 'ada', federatedIdentities }, { username: 'bob' }],
      }).records.users.map(({ identities }) => identities);
    const corp = { alias: 'corp', providerId: 'oidc', config: { issuer: 'https://corp.example' } };
    for (const others of [[], [{ ...corp, enabled: false }], [{ ...corp, linkOnly: true }]])
      expect(identitiesOf(...others)).toEqual([[], undefined]);
    expect(identitiesOf(corp)).toEqual([[expect.objectContaining({ provider: 'corp' })], undefined]);
  });

  it('for whom something restricts have none, also where the file has none', () => {
    const { records } = moved({
      users: [
        { username: 'ada', federationLink: 'ldap' },
        { username: 'bob', credentials: [{ type: 'totp' }] },
        { username: 'carol', requiredActions: ['UPDATE_PASSWORD'] },
      ],
    });
    expect(records.users.map(passwordOf)).toEqual(records.users.map(() => withheldPassword));
  });

  it('with an address that is not verified come without their password, if the realm lets nobody in before', () => {
    const credentials = [{ type: 'password', value: 'correct horse' }];
    const users = [
      { username: 'ada', email: 'ada@acme.example', credentials },
      { username: 'bob', email: 'bob@acme.example', emailVerified: true, credentials },
      { username: 'carol', credentials },
      { username: 'dora', email: 'dora@acme.example' },
    ];
    const passwords = (verifyEmail: boolean) => moved({ verifyEmail, users }).records.users.map(passwordOf);
    expect(passwords(true)).toEqual([withheldPassword, 'correct horse', 'correct horse', undefined]);
    expect(passwords(false)).toEqual(['correct horse', 'correct horse', 'correct horse', undefined]);
    expect(moved({ verifyEmail: true, users }).leftOut).toContain(
      'password of user ada: they must verify their address; they need a link, which proves it',
    );
  });

  it('come disabled for a required action that nobody knows, unless it is accepted', () => {
    const known = [
      'CONFIGURE_TOTP',
      'UPDATE_PROFILE',
      'UPDATE_EMAIL',
      'VERIFY_PROFILE',
      'TERMS_AND_CONDITIONS',
      'terms_and_conditions',
      'webauthn-register',
      'webauthn-register-passwordless',
      'CONFIGURE_RECOVERY_AUTHN_CODES',
      'update_user_locale',
      'UPDATE_PASSWORD',
      'VERIFY_EMAIL',
    ];
    const users = [
      { username: 'ada', enabled: true, requiredActions: known },
      { username: 'bob', enabled: true, requiredActions: ['WAIT_FOR_APPROVAL'] },
    ];
    const statusOf = (user: Part) => user['status'];
    const { records, leftOut } = moved({ users });
    expect(records.users.map(statusOf)).toEqual([undefined, 'disabled']);
    expect(leftOut).toContain('WAIT_FOR_APPROVAL of user bob: is not known here, so they come disabled');
    const wider = moved({ users }, { acceptsWider: true });
    expect(wider.records.users.map(statusOf)).toEqual([undefined, undefined]);
    expect(wider.leftOut).toContain('WAIT_FOR_APPROVAL of user bob: is not known here; accepted');
  });

  it('keep their identifier and the small attributes, if there are too many or they are too large', () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`a${index}`, ['v']]));
    const { records, leftOut } = moved({
      users: [
        { id: '1', username: 'ada', attributes: { team: ['sea'], thumb: ['x'.repeat(5000)] } },
        { id: '2', username: 'bob', attributes: many },
      ],
    });
    expect(records.users[0]?.['attributes']).toEqual({ team: 'sea', keycloakId: '1' });
    const kept = records.users[1]?.['attributes'] as Part;
    expect([Object.keys(kept).length, kept['keycloakId']]).toEqual([50, '2']);
    expect(leftOut).toContain(
      'attributes thumb of user ada: a person has at most 50, of 4096 bytes together',
    );
  });

  it('keep attributes whose names every object has, and lose these too where they are too large', () => {
    const [constructor, large] = [['sea'], ['x'.repeat(5000)]];
    const { records, leftOut } = moved({
      users: [
        { username: 'ada', attributes: { constructor }, credentials: [{ type: 'toString' }] },
        { username: 'bob', attributes: { constructor: large } },
      ],
    });
    const [small, none] = records.users.map(({ attributes }) => attributes);
    expect(small).toEqual({ constructor: 'sea' });
    expect(none).toEqual({});
    expect(leftOut).toContain(
      'toString of user ada: has no counterpart, so the password is left out too; they need a link to set one',
    );
  });

  it('have the roles of clients also by the former name of the key', () => {
    const { records } = moved({
      roles: { client: { web: [{ name: 'payer' }] } },
      users: [{ username: 'ada', applicationRoles: { web: ['payer'] } }],
    });
    expect(records.users[0]?.['roles']).toEqual(['web:payer']);
  });
});
