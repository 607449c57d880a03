import { withheldPassword } from '@tessera/directory';
import { describe, expect, it } from 'vitest';
import { moved, type Part } from '../../../testing/moved-realm.ts';

const password = { type: 'password', value: 'correct horse' };
const secret = 'a secret of twenty b';
/** Base32 of it (RFC 4648 §6). */
const base32 = 'MEQHGZLDOJSXIIDPMYQHI53FNZ2HSIDC';

const app = (data: Part = {}, value = secret) => ({
  type: 'otp',
  secretData: JSON.stringify({ value }),
  credentialData: JSON.stringify({
    subType: 'totp',
    digits: 6,
    counter: 0,
    period: 30,
    algorithm: 'HmacSHA1',
    ...data,
  }),
});

/** What comes of a person with these credentials beside a password. */
function personWith(...credentials: readonly Part[]) {
  const { records, leftOut } = moved({
    users: [{ username: 'ada', credentials: [password, ...credentials] }],
  });
  const [user] = records.users;
  return { totp: user?.['totp'], password: user?.['password'] ?? user?.['passwordHash'], leftOut };
}

describe('an authenticator app', () => {
  it('comes with its password, digits, period and algorithm, and without a line', () => {
    expect(personWith(app())).toEqual({
      totp: { secret: base32, algorithm: 'SHA1', digits: 6, period: 30 },
      password: 'correct horse',
      leftOut: [],
    });
    expect(personWith(app({ digits: 8, period: 60, algorithm: 'HmacSHA256' })).totp).toEqual({
      secret: base32,
      algorithm: 'SHA256',
      digits: 8,
      period: 60,
    });
    expect(personWith(app({ algorithm: 'HmacSHA512', secretEncoding: 'BASE32' }, base32)).totp).toMatchObject(
      {
        secret: base32,
        algorithm: 'SHA512',
      },
    );
  });

  it('comes from Keycloak before 8, which has its parts beside each other', () => {
    const former = { type: 'totp', hashedSaltedValue: secret, digits: 6, period: 30, algorithm: 'HmacSHA1' };
    expect(personWith(former)).toEqual({
      totp: { secret: base32, algorithm: 'SHA1', digits: 6, period: 30 },
      password: 'correct horse',
      leftOut: [],
    });
  });

  it.each([
    ['by a counter', app({ subType: 'hotp' }), 'is by a counter, which is unknown here'],
    [
      'by a counter, before 8',
      { type: 'hotp', hashedSaltedValue: secret, digits: 6 },
      'is by a counter, which is unknown here',
    ],
    ['of seven digits', app({ digits: 7 }), 'has codes that are unknown here'],
    ['by MD5', app({ algorithm: 'HmacMD5' }), 'has codes that are unknown here'],
    ['of ten minutes', app({ period: 600 }), 'has codes that do not last 15 to 120 seconds'],
    ['with a short secret', app({}, 'short'), 'has a secret that is not of 10 to 128 bytes'],
    ['with a secret in hexadecimal', app({ secretEncoding: 'HEX' }), 'has a secret that is unknown here'],
    ['without a secret', { ...app(), secretData: '{}' }, 'is not in the file'],
  ])('%s does not come, nor does its password, with a line that has no secret', (_, credential, problem) => {
    const { totp, password: found, leftOut } = personWith(credential);
    expect([totp, found]).toEqual([undefined, withheldPassword]);
    expect(leftOut).toEqual([
      `one-time password of user ada: ${problem}, so the password is left out too; they need a link to set one`,
    ]);
  });

  it('is one: others, security keys and recovery codes have a line, and the password comes', () => {
    const found = personWith(
      app({ subType: 'hotp' }),
      app(),
      app({}, 'another secret, of an old phone'),
      { type: 'webauthn' },
      { type: 'recovery-authn-codes' },
    );
    expect([found.totp, found.password]).toMatchObject([{ secret: base32 }, 'correct horse']);
    expect(found.leftOut).toEqual([
      'one-time password of user ada: is by a counter, which is unknown here',
      'one-time password of user ada: is another one, and people have one here',
      'security key of user ada: has no counterpart',
      'recovery codes of user ada: has no counterpart',
    ]);
  });

  it('does not stand for a factor that nobody knows', () => {
    const found = personWith(app(), { type: 'of-a-plug-in' });
    expect([found.totp, found.password]).toMatchObject([{ secret: base32 }, withheldPassword]);
    expect(found.leftOut).toEqual([
      'of-a-plug-in of user ada: has no counterpart, so the password is left out too; they need a link to set one',
    ]);
  });

  it('comes to whom the password does not come, and is asked for when they have set one', () => {
    const users = [{ username: 'ada', federationLink: 'ldap', credentials: [app()] }];
    expect(moved({ users }).records.users).toMatchObject([
      { totp: { secret: base32 }, passwordHash: withheldPassword },
    ]);
  });
});
