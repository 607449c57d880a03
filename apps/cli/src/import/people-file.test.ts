import { describe, expect, it } from 'vitest';
import { CommandError } from '../terminal.ts';
import { peopleInCsv, peopleInJson } from './people-file.ts';

describe('people in CSV', () => {
  it('have the keys of the first line, attributes and addresses by a dot, and no empty values', () => {
    const text =
      '\uFEFFusername, email,emailVerified,roles,passwordHash,attributes.team,address.country,shoe size\r\n' +
      'ada,ada@acme.example,TRUE,clerk; boss,"$2b$10$abc",sea,SE,42\r\n' +
      '\r\n' +
      ',"bob@acme.example",,,,,,\r\n';
    expect(peopleInCsv(text)).toEqual({
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
});

describe('people in JSON', () => {
  it('are a list, or the users of an object; references to files and unknown keys are left out', () => {
    const ada = { username: 'ada', attributes: { team: ['sea'] } };
    const users = [ada, { ...ada, passwordFromFile: '/etc/passwd', blocked: true }, 7];
    expect(peopleInJson(JSON.stringify({ users }))).toEqual({
      users: [ada, ada],
      leftOut: [
        'user number 3: is not a set of keys',
        'passwordFromFile of 1 people: is not a known key',
        'blocked of 1 people: is not a known key',
      ],
    });
    expect(peopleInJson('[]')).toEqual({ users: [], leftOut: [] });
  });

  it('are refused without a part of the text', () => {
    expect(() => peopleInJson('{"secret')).toThrow(new CommandError('The file is not JSON.'));
    expect(() => peopleInJson('{"people": []}')).toThrow(new CommandError('The file has no list of people.'));
  });
});
