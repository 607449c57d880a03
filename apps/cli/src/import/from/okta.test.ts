import { pbkdf2Sync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { active, linkFor, read } from '../../testing/read-people.ts';

describe('Okta', () => {
  it('a user of the API comes with the profile, whose further keys are attributes', () => {
    const ada = {
      ...active['okta'],
      id: '00u1',
      created: '2026-01-01T00:00:00.000Z',
      lastLogin: null,
      type: { id: 'oty1' },
      profile: {
        login: 'ada@example.com',
        email: 'ada@example.com',
        firstName: 'Ada',
        lastName: 'Lovelace',
        mobilePhone: '+1-555-415-1337',
        secondEmail: null,
        zipCode: '12345',
        department: 'Engines',
      },
      credentials: {
        password: {},
        emails: [{ value: 'ada@example.com', status: 'VERIFIED', type: 'PRIMARY' }],
        recovery_question: { question: 'Which engine?' },
        provider: { type: 'ACTIVE_DIRECTORY', name: 'harbour' },
      },
      _links: { self: { href: 'https://okta.example/1' } },
    };
    expect(read('okta', [ada])).toEqual({
      users: [
        {
          username: 'ada@example.com',
          email: 'ada@example.com',
          emailVerified: true,
          name: 'Ada Lovelace',
          givenName: 'Ada',
          familyName: 'Lovelace',
          phoneNumber: '+15554151337',
          phoneNumberVerified: false,
          address: { postalCode: '12345' },
          attributes: { oktaId: '00u1', department: 'Engines' },
        },
      ],
      leftOut: [
        linkFor('there is none in the file'),
        'sign-in by ACTIVE_DIRECTORY of 1 people: has no counterpart',
        'credentials.recovery_question of 1 people: has no counterpart',
      ],
    });
  });

  it.each([
    ['ada@example.com', 'ada@example.com', true],
    ['ada@example.com', 'eve@example.com', false],
    ['ada@example.com', undefined, false],
  ])(
    'the address %s is verified if that of the credential is, which is %s: %s',
    (email, value, isVerified) => {
      const credentials = { emails: [{ value, status: 'VERIFIED', type: 'PRIMARY' }] };
      const { users } = read('okta', [{ ...active['okta'], profile: { login: 'ada', email }, credentials }]);
      expect(users).toMatchObject([{ email, emailVerified: isVerified }]);
    },
  );

  it('CSV has the profile without its name', () => {
    const text = 'Id,Login,First name,Status,Cost Center\n1,ada,Ada,ACTIVE,7\n2,eve,Eve,SUSPENDED,\n';
    expect(read('okta', text, { format: 'csv' }).users).toEqual([
      { username: 'ada', name: 'Ada', givenName: 'Ada', attributes: { oktaId: '1', Cost_Center: '7' } },
      { username: 'eve', name: 'Eve', givenName: 'Eve', status: 'disabled', attributes: { oktaId: '2' } },
    ]);
  });

  it('PBKDF2 becomes a PHC string of its first block, and what is unknown here a line', () => {
    const salt = Buffer.alloc(16, 7);
    const of = (length: number) => pbkdf2Sync('correct horse', salt, 1000, length, 'sha256');
    const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
    const given = (hash: object) => [{ ...active['okta'], credentials: { password: { hash } } }];
    const hash = { algorithm: 'PBKDF2', digestAlgorithm: 'SHA256_HMAC', iterationCount: 1000, keySize: 64 };
    const { users } = read(
      'okta',
      given({ ...hash, salt: salt.toString('base64'), value: of(64).toString('base64') }),
    );
    expect(users[0]?.['passwordHash']).toBe(`$pbkdf2-sha256$i=1000$${unpadded(salt)}$${unpadded(of(32))}`);
    const { leftOut } = read('okta', given({ algorithm: 'SHA-512', salt: 'c2FsdA==', value: 'dGFn' }));
    expect(leftOut).toEqual([linkFor('it has a hash by SHA-512, which is unknown here')]);
  });
});
