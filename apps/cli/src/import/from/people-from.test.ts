import { describe, expect, it } from 'vitest';
import { CommandError } from '../../terminal.ts';
import { active, bcrypt, read } from '../../testing/read-people.ts';

const ada = { ...active['auth0'] };
const eve = { ...ada, user_id: 'auth0|2', username: 'eve' };

describe('a file of people', () => {
  it.each([
    ['a list', JSON.stringify([ada, eve])],
    ['a list under its key', JSON.stringify({ start: 0, users: [ada, eve] }, null, 2)],
    ['a person a line', `${JSON.stringify(ada)}\n\n${JSON.stringify(eve)}\n`],
    ['lines of Windows', `\uFEFF${JSON.stringify(ada)}\r\n${JSON.stringify(eve)}`],
  ])('in JSON may be %s', (_, text) => {
    expect(read('auth0', text)).toMatchObject({
      users: [{ username: 'ada' }, { username: 'eve' }],
      leftOut: [],
    });
  });

  it.each([
    ['[{"secret"', 'The file is not JSON.'],
    ['[{"user_id":"auth0|1"},secret]', 'The file is not JSON.'],
    [`${JSON.stringify(ada)}\n{"secret`, 'The file is not JSON (line 2).'],
    ['{"people":[]}', 'The file has no list of people.'],
    ['{\n"people":[]}', 'The file has no list of people.'],
    ['', 'The file is not JSON.'],
  ])('is refused without a part of it: %j', (text, message) => {
    expect(() => read('auth0', text)).toThrow(new CommandError(message));
  });

  it('may have entries that are none', () => {
    expect(read('auth0', [7, ada, null])).toMatchObject({
      users: [{ username: 'ada' }],
      leftOut: ['entry of 2 people: is not a set of keys'],
    });
  });

  it('in CSV has no column twice', () => {
    const text = 'user_id,blocked,blocked\nauth0|1,true,false\n';
    const reading = () => read('auth0', text, { format: 'csv' });
    expect(reading).toThrow(new CommandError('Columns 2 and 3 of the file have one name.'));
  });
});

describe('a key', () => {
  it('that is not known has one line, however many people have it', () => {
    const shoes = { left: 42, right: 42 };
    const { leftOut } = read('auth0', [
      { ...ada, shoes },
      { ...eve, shoes, hat: 7, coat: '', gloves: [] },
    ]);
    expect(leftOut).toEqual([
      'shoes.left of 2 people: has no counterpart',
      'shoes.right of 2 people: has no counterpart',
      'hat of 1 people: has no counterpart',
    ]);
  });

  it('that people have made shows no control characters, and not all of itself', () => {
    const { leftOut } = read('auth0', [{ ...ada, [`a\u001b${'b'.repeat(100)}`]: 1 }]);
    expect(leftOut).toEqual([`a?${'b'.repeat(78)}... of 1 people: has no counterpart`]);
  });

  it('that means what another one says is left out if it says something else', () => {
    const { users, leftOut } = read('okta', [
      { ...active['okta'], profile: { login: 'ada', locale: 'en_GB', preferredLanguage: 'sv' } },
    ]);
    expect(users).toMatchObject([{ locale: 'en-GB' }]);
    expect(leftOut).toEqual([
      'profile.preferredLanguage of 1 people: differs from profile.locale, which is taken',
    ]);
  });
});

describe('attributes', () => {
  it('are texts and lists of texts, by names that attributes may have', () => {
    const app_metadata = { 'cost center': 7, teams: ['sea', 1, ''], 'is-new': true, home: { city: 'Hull' } };
    const { users, leftOut } = read('auth0', [{ ...ada, app_metadata }]);
    expect([users[0]?.['attributes'], leftOut]).toEqual([
      {
        auth0Id: 'auth0|1',
        app_metadata_cost_center: '7',
        app_metadata_teams: ['sea', '1'],
        'app_metadata_is-new': 'true',
        app_metadata_home_city: 'Hull',
      },
      [],
    ]);
  });

  it('are left out one by one, with a line each', () => {
    const app_metadata = { orders: [{ id: 1 }], 'a b': 1, a_b: 2, big: 'x'.repeat(4090), small: 'y' };
    const { users, leftOut } = read('auth0', [{ ...ada, app_metadata }]);
    expect(users[0]?.['attributes']).toEqual({
      auth0Id: 'auth0|1',
      app_metadata_a_b: '1',
      app_metadata_small: 'y',
    });
    expect(leftOut).toEqual([
      'app_metadata.orders of 1 people: is neither text nor a list of texts',
      'app_metadata.a_b of 1 people: another attribute has the name app_metadata_a_b',
      'app_metadata.big of 1 people: a person has no room for more attributes',
    ]);
  });

  it('are at most 50, of which the former identifier is one', () => {
    const app_metadata = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${index}`, 'v']));
    const { users, leftOut } = read('auth0', [{ ...ada, app_metadata }]);
    expect(Object.keys(users[0]?.['attributes'] ?? {})).toHaveLength(50);
    expect(users[0]).toHaveProperty('attributes.auth0Id');
    expect(leftOut).toHaveLength(11);
  });

  it('are never another object, whatever a key is called', () => {
    const text = JSON.stringify([active['okta']]).replace('"login"', '"__proto__":["x"],"login"');
    const { users, leftOut } = read('okta', text);
    expect(leftOut).toContain('profile.__proto__ of 1 people: no attribute may have this name');
    expect(users).toMatchObject([{ username: 'ada' }]);
    expect(Object.getPrototypeOf(users[0]?.['attributes'])).toBe(Object.prototype);
  });
});

describe('a person', () => {
  it('is called by the user name, else the address, the number or the identifier', () => {
    const { username: _, ...nameless } = ada;
    const { users, leftOut } = read('auth0', [
      { ...nameless, email: 'ada@example.com', phone_number: '+46701234567' },
      { ...nameless, phone_number: '+46 (0)70-123 45 67' },
      nameless,
      { blocked: false },
    ]);
    expect(users).toMatchObject([
      { username: 'ada@example.com', phoneNumber: '+46701234567' },
      { username: '+46701234567', phoneNumber: '+46701234567', phoneNumberVerified: false },
      { username: 'auth0|1' },
    ]);
    expect(leftOut).toEqual(['user name of 1 people: there is none, so they are left out']);
  });

  it.each([true, 'true', 'TRUE', '2026-01-01T00:00:00Z'])(
    'has a verified address if the file says %j',
    (value) => {
      const { users } = read('auth0', [{ ...ada, email: 'ada@example.com', email_verified: value }]);
      expect(users).toMatchObject([{ emailVerified: true }]);
    },
  );

  it.each([false, 'false', null, '', 'perhaps', 7, undefined])('has none if it says %j', (value) => {
    const { users } = read('auth0', [{ ...ada, email: 'ada@example.com', email_verified: value }]);
    expect(users).toMatchObject([{ emailVerified: false }]);
  });

  it('has no number that cannot be called from everywhere', () => {
    const { users, leftOut } = read('auth0', [{ ...ada, phone_number: '070-123 45 67' }]);
    expect(users[0]).not.toHaveProperty('phoneNumber');
    expect(leftOut).toEqual(['phone_number of 1 people: is no number such as +46701234567']);
  });

  it('keeps the password, of which nothing is said in a line', () => {
    const { users, leftOut } = read('auth0', [ada, { ...eve, passwordHash: 'md5:secret' }]);
    expect(users).toEqual([
      { username: 'ada', passwordHash: bcrypt, attributes: { auth0Id: 'auth0|1' } },
      { username: 'eve', attributes: { auth0Id: 'auth0|2' } },
    ]);
    expect(leftOut).toEqual([
      'password of 1 people: it has a hash, which is unknown here; they need a link to set one',
    ]);
  });
});
