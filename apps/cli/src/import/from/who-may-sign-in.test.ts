import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommandError } from '../../terminal.ts';
import type { Entry } from '../files/imported.ts';
import { withheldPassword } from '@tessera/directory';
import { active, bcrypt, linkFor, read } from '../../testing/read-people.ts';

/** What becomes of the active person of a product if a key has another value. */
function becomes(product: string, changed: Entry) {
  const { users, leftOut } = read(product, [{ ...active[product], ...changed }]);
  const [user] = users;
  if (user === undefined) return { is: 'left out', leftOut };
  if (user['status'] !== undefined) return { is: user['status'], leftOut };
  return { is: user['passwordHash'] === bcrypt ? 'active' : 'without a password', leftOut };
}

describe('who may not sign in there does not here', () => {
  it.each<[string, string, unknown, string]>([
    ['auth0', 'blocked', false, 'active'],
    ['auth0', 'blocked', 'false', 'active'],
    ['auth0', 'blocked', null, 'active'],
    ['auth0', 'blocked', true, 'disabled'],
    ['auth0', 'blocked', 'TRUE', 'disabled'],
    ['auth0', 'blocked', 'since Monday', 'disabled'],
    ['auth0', 'blocked', { since: 'Monday' }, 'disabled'],
    ['auth0', 'account_status', 'fine', 'disabled'],
    ['okta', 'status', 'ACTIVE', 'active'],
    ['okta', 'status', 'PASSWORD_EXPIRED', 'without a password'],
    ['okta', 'status', 'PROVISIONED', 'without a password'],
    ['okta', 'status', 'RECOVERY', 'without a password'],
    ['okta', 'status', 'STAGED', 'disabled'],
    ['okta', 'status', 'LOCKED_OUT', 'disabled'],
    ['okta', 'status', 'SUSPENDED', 'disabled'],
    ['okta', 'status', 'DEPROVISIONED', 'disabled'],
    ['okta', 'status', ['ACTIVE'], 'disabled'],
    ['okta', 'status', null, 'disabled'],
    ['okta', 'transitioningToStatus', 'DEPROVISIONED', 'disabled'],
    ['firebase', 'disabled', false, 'without a password'],
    ['firebase', 'disabled', true, 'disabled'],
    ['firebase', 'disabled', 'perhaps', 'disabled'],
    ['firebase', 'email', '', 'left out'],
    ['cognito', 'Enabled', false, 'disabled'],
    ['cognito', 'Enabled', null, 'disabled'],
    ['cognito', 'UserStatus', 'CONFIRMED', 'without a password'],
    ['cognito', 'UserStatus', 'EXTERNAL_PROVIDER', 'without a password'],
    ['cognito', 'UserStatus', 'FORCE_CHANGE_PASSWORD', 'without a password'],
    ['cognito', 'UserStatus', 'RESET_REQUIRED', 'without a password'],
    ['cognito', 'UserStatus', 'UNCONFIRMED', 'disabled'],
    ['cognito', 'UserStatus', 'ARCHIVED', 'disabled'],
    ['cognito', 'UserStatus', 'COMPROMISED', 'disabled'],
    ['cognito', 'UserStatus', 'UNKNOWN', 'disabled'],
    ['supabase', 'banned_until', '2026-05-31 23:59:59+00', 'active'],
    ['supabase', 'banned_until', '2026-06-01 00:00:01+00', 'disabled'],
    ['supabase', 'banned_until', 'infinity', 'disabled'],
    ['supabase', 'deleted_at', '2026-01-01T00:00:00Z', 'left out'],
    ['supabase', 'deleted_at', { $date: '2026-01-01T00:00:00Z' }, 'left out'],
    ['supabase', 'is_anonymous', 'f', 'active'],
    ['supabase', 'is_anonymous', 't', 'left out'],
    ['supabase', 'email_confirmed_at', null, 'disabled'],
    ['supabase', 'email_confirmed_at', false, 'disabled'],
    ['entra', 'accountEnabled', 'True', 'without a password'],
    ['entra', 'accountEnabled', false, 'disabled'],
    ['entra', 'accountEnabled', null, 'disabled'],
    ['entra', 'externalUserState', 'Accepted', 'without a password'],
    ['entra', 'externalUserState', 'PendingAcceptance', 'disabled'],
    ['entra', 'invitationState', 'Declined', 'disabled'],
    ['entra', 'deletedDateTime', '2026-01-01T00:00:00Z', 'left out'],
  ])('of whom %s says %s %j is %s', (product, key, value, outcome) => {
    expect(becomes(product, { [key]: value }).is).toBe(outcome);
  });

  it.each<[string, string, readonly string[]]>([
    ['okta', 'status', ['ACTIVE', 'PASSWORD_EXPIRED', 'PROVISIONED', 'RECOVERY']],
    ['cognito', 'UserStatus', ['CONFIRMED', 'EXTERNAL_PROVIDER', 'FORCE_CHANGE_PASSWORD', 'RESET_REQUIRED']],
    ['auth0', 'blocked', ['FALSE', 'F', 'NO', '0', '']],
    ['entra', 'accountEnabled', ['TRUE', 'T', 'YES', '1']],
  ])('of %s: whatever it writes as %s, only what is listed lets in', (product, key, listed) => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constantFrom(...listed));
    fc.assert(
      fc.property(text, (value) => {
        const mayEnter = listed.includes(value.trim().toUpperCase());
        expect(becomes(product, { [key]: value }).is !== 'disabled').toBe(mayEnter);
      }),
    );
  });

  it('a value that nobody knows has a line without it, also of a key that is not known', () => {
    const { leftOut } = becomes('okta', { status: 'FROZEN' });
    expect(leftOut).toEqual(['status of 1 people: Okta is not known to write this, so they are disabled']);
    expect(becomes('auth0', { account_status: 'fine' }).leftOut).toEqual([
      'account_status of 1 people: nobody knows what it means, so they are disabled',
    ]);
  });

  it('a status that is there under two spellings counts twice', () => {
    expect(becomes('okta', { status: 'ACTIVE', Status: 'SUSPENDED' }).is).toBe('disabled');
  });
});

describe('a password that alone was not enough there is not here', () => {
  it.each<[string, string, Entry]>([
    ['auth0', 'multifactor', { multifactor: ['guardian'] }],
    ['auth0', 'guardian_authenticators', { guardian_authenticators: [{ type: 'totp' }] }],
    ['auth0', 'mfa_factors', { mfa_factors: { totp: { secret: 'S' } } }],
    ['okta', '_embedded.factors', { _embedded: { factors: [{ factorType: 'push' }] } }],
    ['supabase', 'factors', { factors: ['totp'] }],
    ['cognito', 'cognito:mfa_enabled', { 'cognito:mfa_enabled': 'true' }],
    ['cognito', 'UserMFASettingList', { UserMFASettingList: ['SOFTWARE_TOKEN_MFA'] }],
    ['firebase', 'mfaInfo', { mfaInfo: [{ mfaEnrollmentId: '1' }] }],
  ])('with a second factor, which %s says by %s', (product, key, changed) => {
    const { is, leftOut } = becomes(product, changed);
    expect(is).toBe('without a password');
    const why = 'cannot be moved, so their passwords, which alone would be enough, are left out too';
    expect(leftOut).toEqual([linkFor(why).replace('password', key)]);
  });

  it.each([
    ['a second factor', { multifactor: ['guardian'] }, withheldPassword],
    ['nothing known of second factors', { multifactor: undefined }, undefined],
  ])('of whom there is %s: a hash that no password has replaces an earlier one', (_, changed, orNone) => {
    const ada = { ...active['auth0'], ...changed };
    const hashOf = (passwordHash?: string) =>
      read('auth0', [{ ...ada, passwordHash }]).users[0]?.['passwordHash'];
    expect([hashOf(bcrypt), hashOf('md5:secret'), hashOf()]).toEqual([withheldPassword, orNone, orNone]);
  });

  it('if it has to be changed there', () => {
    const { leftOut } = becomes('okta', { status: 'PASSWORD_EXPIRED' });
    const { users } = read('okta', [{ ...active['okta'], status: 'PASSWORD_EXPIRED' }]);
    expect(users).toMatchObject([{ passwordHash: withheldPassword }]);
    expect(leftOut).toEqual([linkFor('Okta asks for a new one')]);
  });

  it.each([
    ['auth0', 'multifactor'],
    ['supabase', 'factors'],
  ])('unless %s says by %s that there is none, or the command line does', (product, key) => {
    const { [key]: _, ...silent } = { ...active[product] };
    const { users, leftOut } = read(product, [silent]);
    expect(users[0]).toHaveProperty('passwordHash', withheldPassword);
    const why = `the file does not say who has a second factor: export ${key}, or say --nobody-has ${key}`;
    expect(leftOut).toEqual([linkFor(why)]);
    const { users: told, leftOut: nothing } = read(product, [silent], { nobodyHas: [key] });
    expect([told[0]?.['passwordHash'], nothing]).toEqual([bcrypt, []]);
  });
});

describe('a file that does not say who may sign in', () => {
  it.each([
    ['auth0', 'blocked', 'active'],
    ['supabase', 'banned_until', 'active'],
    ['supabase', 'deleted_at', 'active'],
    ['supabase', 'email_confirmed_at', 'disabled'],
    ['okta', 'status', undefined],
    ['cognito', 'Enabled', undefined],
    ['cognito', 'UserStatus', undefined],
    ['entra', 'accountEnabled', undefined],
  ])('of %s, as nobody has %s, is refused; with --nobody-has they are %s', (product, key, otherwise) => {
    const { [key]: _, ...silent } = { ...active[product] };
    const remedy = otherwise === undefined ? '' : `, or say --nobody-has ${key}`;
    const message = `The file does not say who may sign in: nobody has ${key}. Export it${remedy}.`;
    expect(() => read(product, [silent])).toThrow(new CommandError(message));
    const told = () => read(product, [silent], { nobodyHas: [key.toUpperCase()] });
    if (otherwise === undefined) expect(told).toThrow(/^--nobody-has takes \w+ of/);
    else expect(told().users[0]?.['status'] ?? 'active').toBe(otherwise);
  });

  it('is none if one person has the key, whatever it says of that one', () => {
    const ada = active['auth0'];
    const eve = { user_id: 'auth0|2', username: 'eve', passwordHash: bcrypt };
    expect(read('auth0', [ada, eve])).toMatchObject({
      users: [{ username: 'ada' }, { username: 'eve', passwordHash: bcrypt }],
      leftOut: [],
    });
  });

  it('cannot be told by keys that say something else', () => {
    expect(() => read('auth0', [], { nobodyHas: ['email'] })).toThrow(
      '--nobody-has takes blocked,multifactor of Auth0.',
    );
    expect(() => read('firebase', [], { nobodyHas: ['disabled'] })).toThrow(
      '--nobody-has takes nothing of Firebase.',
    );
  });

  it('may have nobody', () => {
    expect(read('okta', [])).toEqual({ users: [], leftOut: [] });
  });
});
