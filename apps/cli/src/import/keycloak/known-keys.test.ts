import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newRealm } from '../../testing/new-realm.ts';
import { importedRealm } from './imported-realm.ts';

type Node = Record<string, unknown>;

function leftOutOf(realm: unknown): readonly string[] {
  return importedRealm([{ name: 'realm.json', text: JSON.stringify(realm) }]).leftOut;
}

function unknownIn(realm: unknown): string[] {
  const end = ': nobody knows this key';
  return leftOutOf(realm).flatMap((line) => (line.endsWith(end) ? [line.slice(0, -end.length)] : []));
}

/** Where a key is looked for by its name, with the pattern that a line has. */
const places: readonly (readonly [pattern: string, of: (realm: ReturnType<typeof newRealm>) => unknown])[] = [
  ['', (realm) => realm],
  ['attributes.', (realm) => realm.attributes],
  ['roles.', (realm) => realm.roles],
  ['roles.realm[].', (realm) => realm.roles.realm[2]],
  ['roles.client.*[].', (realm) => realm.roles.client.web[0]],
  ['groups[].', (realm) => realm.groups[0]],
  ['groups[].', (realm) => realm.groups[0]?.subGroups[0]],
  ['users[].', (realm) => realm.users[0]],
  ['users[].credentials[].', (realm) => realm.users[0]?.credentials?.[0]],
  ['clients[].', (realm) => realm.clients[1]],
  ['clients[].attributes.', (realm) => realm.clients[1]?.attributes],
  ['clients[].protocolMappers[].', (realm) => realm.clients[1]?.protocolMappers[0]],
  ['clients[].protocolMappers[].config.', (realm) => realm.clients[1]?.protocolMappers[0]?.config],
  ['clientScopes[].', (realm) => realm.clientScopes[0]],
  ['clientScopes[].attributes.', (realm) => realm.clientScopes[0]?.attributes],
  ['clientScopes[].protocolMappers[].config.', (realm) => realm.clientScopes[1]?.protocolMappers[0]?.config],
];

/** Without these there is no realm, or nothing that a line could name. */
const needed = new Set(['realm', 'clients', 'clientId', 'name', 'alias', 'protocolMapper', 'users', 'roles']);

/** A copy without the keys for which `isKept` is false. */
function part(value: unknown, isKept: () => boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => part(each, isKept));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => needed.has(key) || isKept());
  return Object.fromEntries(kept.map(([key, each]) => [key, part(each, isKept)]));
}

describe('every key of an export', () => {
  it('of a realm that nobody has changed is read, or has no meaning here', () => {
    expect(leftOutOf(newRealm()).filter((line) => !line.startsWith('group '))).toEqual([]);
  });

  it('is told if it is one that objects have by themselves, also where others are read', () => {
    const text = JSON.stringify(newRealm()).replaceAll(
      /"attributes":\{(?=")/g,
      '"attributes":{"__proto__":["x"],',
    );
    const realm: unknown = JSON.parse(text);
    expect(unknownIn(realm)).toEqual(expect.arrayContaining(['users[].attributes.__proto__']));
  });

  it('is read, known or told in any part of a realm', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 20, maxLength: 400 }), (choices) => {
        let next = 0;
        const isKept = (): boolean => {
          next += 1;
          return choices[next % choices.length] ?? true;
        };
        expect(unknownIn(part(newRealm(), isKept))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('that is new has a line with its pattern, wherever it stands', () => {
    const value = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.integer(),
      fc.boolean(),
      fc.constant(['a', 'b']),
      fc.constant({ some: { thing: 1 } }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...places),
        fc.stringMatching(/^zz[a-z.]{1,8}$/),
        value,
        (place, key, each) => {
          const realm = newRealm();
          const [pattern, of] = place;
          (of(realm) as Node)[key] = each;
          const shown = Array.isArray(each) ? `${pattern}${key} (2)` : `${pattern}${key}`;
          expect(unknownIn(realm)).toEqual([shown]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('that many records have has one line with their number, and no line has a value', () => {
    const users = Array.from({ length: 300 }, (_, index) => ({
      username: `person-${index}`,
      enabled: true,
      shoeSize: 'a value',
      clientConsents: [{ clientId: 'web', grantedClientScopes: ['a value'] }],
    }));
    const lines = leftOutOf({ ...newRealm(), users }).filter((line) => !/^(group|password) /.test(line));
    expect(lines).toEqual([
      'users[].clientConsents (300): people are asked again for what they had allowed',
      'users[].shoeSize (300): nobody knows this key',
    ]);
  });

  it('that is another than in a new realm is told', () => {
    const lines = leftOutOf({
      ...newRealm(),
      passwordPolicy: 'length(12)',
      verifyEmail: true,
      resetPasswordAllowed: false,
      ssoSessionIdleTimeout: 60,
      organizations: [{ name: 'One', domains: [{ name: 'one.example' }] }],
      defaultGroups: ['/staff'],
      applications: [{ name: 'old', secret: 'a secret' }],
      federatedUsers: [{ id: 'f:1:ada' }, { id: 'f:1:bob' }],
      components: { 'org.plug.in': [{ name: 'one', config: { secret: ['a secret'] } }] },
      'odd\nkey': { secret: 1 },
    });
    expect(lines.filter((line) => !line.startsWith('group ')).toSorted()).toEqual([
      'applications: is of Keycloak before version 3: export the realm with a later one',
      'components.org.plug.in: nobody knows this key',
      'defaultGroups: people who are made here have the roles that they are given',
      'federatedUsers (2): people of user federations are not in the file',
      'odd?key: nobody knows this key',
      'organizations: has no counterpart',
      'passwordPolicy: new passwords have the rules of the installation',
      'resetPasswordAllowed: people may set a new password by mail, where mail is sent',
      'ssoSessionIdleTimeout: sign-ins last as long as the installation says',
      'verifyEmail: people who are made here sign in before they have verified their address',
    ]);
  });
});
