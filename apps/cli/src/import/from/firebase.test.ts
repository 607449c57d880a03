import { describe, expect, it } from 'vitest';
import { linkFor, read } from '../../testing/read-people.ts';

describe('Firebase', () => {
  const scrypt = linkFor('it has a hash by the scrypt of Firebase, which is unknown here');

  it('JSON has accounts under users, with custom claims as text', () => {
    const ada = {
      localId: 'uid1',
      email: 'ada@example.com',
      emailVerified: true,
      passwordHash: 'aGFzaA==',
      salt: 'c2FsdA==',
      displayName: 'Ada Lovelace',
      lastSignedInAt: '1767225600000',
      createdAt: '1767225600000',
      customAttributes: '{"role":"editor","levels":[1,2]}',
      providerUserInfo: [{ providerId: 'google.com', rawId: '1', email: 'ada@example.com' }],
    };
    const nobody = { localId: 'uid2', createdAt: '1767225600000', providerUserInfo: [] };
    expect(read('firebase', { users: [ada, nobody] })).toEqual({
      users: [
        {
          username: 'ada@example.com',
          email: 'ada@example.com',
          emailVerified: true,
          name: 'Ada Lovelace',
          attributes: { firebaseId: 'uid1', role: 'editor', levels: ['1', '2'] },
        },
      ],
      leftOut: [
        scrypt,
        'sign-in by google.com of 1 people: has no counterpart',
        'isAnonymous of 1 people: they are left out',
      ],
    });
  });

  const row = (cells: Readonly<Record<number, string>>, count = 29) =>
    Array.from({ length: count }, (_, index) => cells[index + 1] ?? '').join(',');

  it('CSV has 28 columns and a separator, or one less, without names', () => {
    const claims = '"{""role"":""editor""}"';
    const ada = { 1: 'uid1', 2: 'ada@example.com', 3: 'true', 4: 'aGFzaA==', 5: 'c2FsdA==', 6: 'Ada "A"' };
    const text = [
      row({ ...ada, 8: '1', 26: '+46701234567', 28: claims }),
      row({ 1: 'uid2', 2: 'eve@example.com', 3: 'false', 27: 'true' }),
    ].join('\n');
    expect(read('firebase', text, { format: 'csv' })).toMatchObject({
      users: [
        {
          username: 'ada@example.com',
          name: 'Ada "A"',
          phoneNumber: '+46701234567',
          attributes: { firebaseId: 'uid1', role: 'editor' },
        },
        { username: 'eve@example.com', emailVerified: false, status: 'disabled' },
      ],
      leftOut: [
        scrypt,
        'sign-in by google.com of 1 people: has no counterpart',
        linkFor('there is none in the file'),
      ],
    });
    expect(read('firebase', row(ada, 28), { format: 'csv' }).users).toHaveLength(1);
  });

  it.each([27, 30])('CSV of %i columns is none of Firebase', (count) => {
    const text = row({ 1: 'uid1', 2: 'ada@example.com' }, count);
    expect(() => read('firebase', text, { format: 'csv' })).toThrow(
      'Person 1 of the file has other columns than 28 or 29.',
    );
  });
});
