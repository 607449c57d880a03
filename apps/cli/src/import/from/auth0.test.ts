import { describe, expect, it } from 'vitest';
import { hashesOfAuth0 } from './auth0.ts';
import { active, bcrypt, linkFor, read } from '../../testing/read-people.ts';

describe('Auth0', () => {
  const ada = {
    user_id: 'auth0|5f7c8ec7c33c6c004bbafe82',
    email: 'ada@example.com',
    email_verified: true,
    name: 'Ada Lovelace',
    given_name: 'Ada',
    family_name: 'Lovelace',
    nickname: 'ada',
    picture: 'https://example.com/ada.png',
    identities: [
      {
        connection: 'Username-Password-Authentication',
        provider: 'auth0',
        user_id: '5f7c8ec7c33c6c004bbafe82',
        isSocial: false,
      },
    ],
    created_at: '2020-10-06T15:37:11.123Z',
    last_ip: '192.0.2.1',
    logins_count: 7,
    blocked: false,
    multifactor: [],
    user_metadata: { plan: 'free' },
    app_metadata: { plan: 'gold' },
  };
  const eve = {
    user_id: 'google-oauth2|1',
    email: 'eve@example.com',
    identities: [{ provider: 'google-oauth2', connection: 'google-oauth2', isSocial: true }],
    blocked: true,
  };
  const hashOf = (_id: string, more = {}) =>
    JSON.stringify({
      _id: { $oid: _id },
      email: 'ada@example.com',
      email_verified: true,
      passwordHash: bcrypt,
      password_set_date: { $date: '2020-10-06T15:37:11.123Z' },
      tenant: 'harbour',
      connection: 'Username-Password-Authentication',
      _tmp_is_unique: true,
      ...more,
    });

  it('people come with the hashes of their own file; providers have a line', () => {
    const hashes = hashesOfAuth0(`${hashOf('5f7c8ec7c33c6c004bbafe82')}\n${hashOf('gone')}\n`);
    expect(read('auth0', `${JSON.stringify(ada)}\n${JSON.stringify(eve)}`, { hashes })).toEqual({
      users: [
        {
          username: 'ada@example.com',
          email: 'ada@example.com',
          emailVerified: true,
          name: 'Ada Lovelace',
          givenName: 'Ada',
          familyName: 'Lovelace',
          nickname: 'ada',
          picture: 'https://example.com/ada.png',
          passwordHash: bcrypt,
          attributes: {
            auth0Id: 'auth0|5f7c8ec7c33c6c004bbafe82',
            user_metadata_plan: 'free',
            app_metadata_plan: 'gold',
          },
        },
        {
          username: 'eve@example.com',
          email: 'eve@example.com',
          emailVerified: false,
          status: 'disabled',
          attributes: { auth0Id: 'google-oauth2|1' },
        },
      ],
      leftOut: [
        linkFor('there is none in the file'),
        'sign-in by google-oauth2 of 1 people: has no counterpart',
        'password hash of 1 people: the file of people does not have them',
      ],
    });
  });

  it('two hashes of one identifier, which several databases have, are left out', () => {
    const other = hashOf('x', { alt_id: '1', passwordHash: bcrypt.replace('a', 'b') });
    const hashes = hashesOfAuth0(`${hashOf('x', { alt_id: '1' })}\n${other}`);
    const { passwordHash: _, ...silent } = { ...active['auth0'] };
    expect(read('auth0', [silent], { hashes }).users[0]).not.toHaveProperty('passwordHash');
  });

  it('the file of hashes is refused if it is none', () => {
    expect(() => hashesOfAuth0('user_id,hash\n')).toThrow('is not JSON, a person a line');
  });

  it('the export of password hashes alone does not say who is blocked, or has a second factor', () => {
    const identifiers = [{ type: 'email', value: 'ada@example.com', verified: true }];
    const text = hashOf('7', { email: undefined, email_verified: undefined, identifiers });
    expect(() => read('auth0', text)).toThrow('The file does not say who may sign in: nobody has blocked.');
    expect(read('auth0', text, { nobodyHas: ['blocked', 'multifactor'] })).toEqual({
      users: [
        {
          username: 'ada@example.com',
          email: 'ada@example.com',
          emailVerified: true,
          passwordHash: bcrypt,
          attributes: { auth0Id: 'auth0|7' },
        },
      ],
      leftOut: [],
    });
  });

  it.each([
    [{ email: 'ada@example.com' }, { email: 'ada@example.com', emailVerified: false }],
    [{ Email: 'ada@example.com' }, { email: 'ada@example.com', emailVerified: false }],
    [{ email_verified: true }, {}],
    [{}, { email: 'eve@example.com', emailVerified: true }],
  ])('beside %j, identifiers say nothing of an address that may be another one', (more, expected) => {
    const identifiers = [{ type: 'email', value: 'eve@example.com', verified: true }];
    const { users } = read('auth0', [{ ...active['auth0'], ...more, identifiers }]);
    const { email, emailVerified } = users[0] ?? {};
    expect({ email, emailVerified }).toEqual({ email: undefined, emailVerified: undefined, ...expected });
  });

  it.each([
    ['bcrypt', { hash: { value: bcrypt } }, bcrypt],
    ['bcrypt', { hash: { value: bcrypt, encoding: 'utf8' }, password: { encoding: 'utf8' } }, bcrypt],
    ['bcrypt', { hash: { value: bcrypt }, password: { encoding: 'utf16le' } }, undefined],
    ['pbkdf2', { hash: { value: '$pbkdf2-sha256$i=1000$c2FsdA$dGFn' } }, '$pbkdf2-sha256$i=1000$c2FsdA$dGFn'],
    ['bcrypt', { hash: { value: bcrypt }, salt: { value: 'salt', position: 'prefix' } }, undefined],
    ['md5', { hash: { value: 'd41d8cd98f00b204e9800998ecf8427e', encoding: 'hex' } }, undefined],
  ])('the import format has %s as %j', (algorithm, more, hash) => {
    const { passwordHash: _, ...silent } = { ...active['auth0'] };
    const { users, leftOut } = read('auth0', [{ ...silent, custom_password_hash: { algorithm, ...more } }]);
    expect(users[0]?.['passwordHash']).toBe(hash);
    const why = `it has a hash by ${algorithm}, which is unknown here`;
    expect(leftOut).toEqual(hash === undefined ? [linkFor(why)] : []);
  });

  it('CSV has the fields of the export as columns', () => {
    const text =
      '\uFEFFuser_id,email,email_verified,blocked,multifactor[0],user_metadata.country,provider\n' +
      'auth0|1,ada@example.com,true,,,SE,auth0\nauth0|2,eve@example.com,false,true,guardian,,auth0\n';
    expect(read('auth0', text, { format: 'csv' })).toMatchObject({
      users: [
        { username: 'ada@example.com', emailVerified: true, attributes: { user_metadata_country: 'SE' } },
        { username: 'eve@example.com', emailVerified: false, status: 'disabled' },
      ],
      leftOut: [
        linkFor('there is none in the file'),
        'provider of 2 people: has no counterpart',
        expect.stringMatching(/^multifactor of 1 people: cannot be moved/),
      ],
    });
  });
});
