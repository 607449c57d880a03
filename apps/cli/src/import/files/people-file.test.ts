import { describe, expect, it } from 'vitest';
import { CommandError } from '../../terminal.ts';
import { peopleInCsv, peopleInJson } from './people-file.ts';

/** With all people at once. */
const all = ({ users, leftOut }: ReturnType<typeof peopleInJson>) => ({ users: [...users], leftOut });

describe('people in CSV', () => {
  it('have the keys of the first line, attributes and addresses by a dot, and no empty values', () => {
    const text =
      '\uFEFFusername, email,emailVerified,roles,passwordHash,attributes.team,address.country,shoe size\r\n' +
      'ada,ada@acme.example,TRUE,clerk; boss,"$2b$10$abc",sea,SE,42\r\n' +
      '\r\n' +
      ',"bob@acme.example",,,,,,\r\n';
    expect(all(peopleInCsv(text))).toEqual({
      users: [
        {
          username: 'ada',
          email: 'ada@acme.example',
          emailVerified: true,
          roles: ['clerk', 'boss'],
          passwordHash: '$2b$10$abc',
          attributes: { team: 'sea' },
          address: { country: 'SE' },
        },
        { username: 'bob@acme.example', email: 'bob@acme.example' },
      ],
      leftOut: ['shoe size of 1 people: is not a known key'],
    });
  });

  it('are refused with the line, and without a cell, if a line has too many cells', () => {
    const read = () => peopleInCsv('username,email\nada,ada@acme.example\nbob,secret,more\n');
    expect(read).toThrow(new CommandError('The file is not CSV (csv record inconsistent columns, line 3).'));
  });

  it('are refused if commas do not separate the columns, as spreadsheets of some languages write them', () => {
    for (const separator of [';', '\t'])
      expect(() => peopleInCsv(`username${separator}email\nada${separator}ada@acme.example\n`)).toThrow(
        new CommandError(
          'The first line of the file is one name: separate the columns by commas (RFC 4180).',
        ),
      );
  });

  it('are refused without a name if two columns have one', () => {
    const read = () => peopleInCsv('status,username,status\nactive,ada,disabled\n');
    expect(read).toThrow(new CommandError('Columns 1 and 3 of the file have one name.'));
  });
});

describe('the status of people', () => {
  it('is read in any case, as is its key, from CSV and JSON', () => {
    const eve = { username: 'eve', status: 'disabled', roles: ['clerk'] };
    expect(all(peopleInCsv('Username,STATUS,Roles\neve, Disabled ,clerk\n'))).toEqual({
      users: [eve],
      leftOut: [],
    });
    expect(all(peopleInJson('[{"Username": "eve", "Status": "DISABLED", "roles": ["clerk"]}]'))).toEqual({
      users: [eve],
      leftOut: [],
    });
  });

  it.each([
    'active',
    'enabled',
    'isActive',
    'is_enabled',
    'accountEnabled',
    'Account Status',
    'disabled',
    'blocked',
    'userState',
    'locked',
    'suspended',
    'deactivated',
    'expires_at',
  ])('leaves a person out who has it as %s, whatever it says', (key) => {
    const line = `user eve: ${key} is not a known key. Write status: active, disabled or locked`;
    const leftOut = [`${key} of 1 people: is not a known key`, line];
    expect(all(peopleInCsv(`username,${key}\neve,yes\nbob,\n`))).toEqual({
      users: [{ username: 'bob' }],
      leftOut,
    });
    const json = JSON.stringify([{ username: 'eve', [key]: false }, { username: 'bob' }]);
    expect(all(peopleInJson(json))).toEqual({ users: [{ username: 'bob' }], leftOut });
  });

  it('leaves a person out who has it twice', () => {
    const { users, leftOut } = all(
      peopleInJson('[{"username": "eve", "Status": "active", "status": "disabled"}]'),
    );
    expect(users).toEqual([]);
    expect(leftOut[1]).toContain('user eve: Status is not a known key');
  });
});

describe('people in JSON', () => {
  it('are a list, or the users of an object; references to files and unknown keys are left out', () => {
    const ada = { username: 'ada', attributes: { team: ['sea'] } };
    const users = [ada, { ...ada, passwordFromFile: '/etc/passwd', shoe: 42 }, 7];
    expect(all(peopleInJson(JSON.stringify({ users })))).toEqual({
      users: [ada, ada],
      leftOut: [
        'user number 3: is not a set of keys',
        'passwordFromFile of 1 people: is not a known key',
        'shoe of 1 people: is not a known key',
      ],
    });
    expect(all(peopleInJson('[]'))).toEqual({ users: [], leftOut: [] });
  });

  it('are read again from the beginning, whatever brackets, quotes and escapes their texts have', () => {
    const names = ['a "b', 'c\\', '[{', ']},', '\u2028 \ud83d\ude00'];
    const users = names.map((name) => ({ username: name, name }));
    for (const text of [users, { before: ['users'], users, after: { users: [] } }]) {
      const { users: found } = peopleInJson(JSON.stringify(text, null, 2));
      expect([...found]).toEqual(users);
      expect([...found]).toEqual(users);
    }
  });

  it.each([
    '',
    '{"secret',
    '[{"a":1}}',
    '[{"a":1},]',
    '[,]',
    '[1 2]',
    '[{"a":secret}]',
    '[] x',
    '{"users":[1]',
    '{"a" 1}',
  ])('are refused without a part of the text if it is not JSON: %s', (text) => {
    expect(() => peopleInJson(text)).toThrow(new CommandError('The file is not JSON.'));
  });

  it('are refused if there is no list of them', () => {
    expect(() => peopleInJson('{"people": []}')).toThrow(new CommandError('The file has no list of people.'));
  });
});
