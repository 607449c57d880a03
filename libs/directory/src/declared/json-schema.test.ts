import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { completeTenant } from '../testing/complete-tenant.ts';
import { declaredStateSchema } from './json-schema.ts';
import { readDeclaredState } from './read.ts';
import { reference } from './reference.ts';
import { declaredState } from './schema.ts';

const schema = declaredStateSchema();
const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(schema);

/** The first mistake, as its place and the keyword that is not met; undefined if there is none. */
function mistake(state: unknown): string | undefined {
  if (validate(state)) return undefined;
  const [error] = validate.errors ?? [];
  return `${error?.instancePath} ${error?.keyword}`;
}

const root = join(import.meta.dirname, '../../../..');

/** The declared states in the repository, as files or as blocks of Markdown. */
const examples = globSync(['{deploy,docs,examples}/**/*.{yaml,md}', '{apps,libs,tools}/*/*.md'], {
  cwd: root,
  exclude: ['**/node_modules/**'],
}).flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  const texts = file.endsWith('.md') ? (text.match(/(?<=^```yaml\n)[^]*?(?=^```$)/gm) ?? []) : [text];
  return texts.filter((one) => /^tenants:/m.test(one)).map((one): [string, string] => [file, one]);
});

/** The path of each value in a value, its own first. */
function pathsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return [path, ...parts.flatMap(([key, part]) => pathsIn(part, [...path, key]))];
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, key) => (at as Record<string, unknown>)[key], value);
}

function textsIn(value: unknown, key: string): string[] {
  const paths = pathsIn(value).filter((path) => path.at(-1) === key);
  return paths.map((path) => valueAt(value, path)).filter((text) => typeof text === 'string');
}

/** A copy with another value in one place, or without it. */
function changed(state: object, path: readonly string[], value: unknown): unknown {
  const copy = structuredClone(state);
  const parent = valueAt(copy, path.slice(0, -1)) as Record<string, unknown>;
  const key = path.at(-1) ?? '';
  if (value !== undefined) parent[key] = value;
  else if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return copy;
}

/** States with one record of a kind, each of the complete tenant. */
function statesWith(kind: string): object[] {
  if (kind === 'file') return [{ owner: 'orders', tenants: [] }];
  const isList = (value: unknown) => Array.isArray(value) && typeof value[0] === 'object';
  const own = Object.entries(completeTenant).filter(([, value]) => !isList(value));
  if (kind === 'tenants') return [{ tenants: [Object.fromEntries(own)] }];
  const records = valueAt(completeTenant, [kind]) as object[];
  return records.map((record) => ({ tenants: [{ id: 'acme', [kind]: [record] }] }));
}

const odd = [undefined, null, true, false, 0, 1, -1, 1.5, 60, 61, 86_400, 86_401, 1e300, [], [[]], {}];
const texts = ['', ' ', ' x', 'x', '*', 'api', 'a/*', 'x\ny', 'x\r\ny', 'x\ty', '\u0085', '\u{1f600}', 'é'];
const times = ['10m', ' 10m ', '0s', '500ms', '1985', '2030-01-31T12:00Z', '2030-01-31T12:00:00.5+02:00'];
const long = ['x', '\u{1f600}'].flatMap((letter) => [64, 100, 200, 256].map((count) => letter.repeat(count)));
const parts = [['x'], ['x', 'x'], [{ name: 'x' }], { name: 'x' }, { name: 'x', description: 'x' }, ['*']];
/** What is put into each place. */
const tried: readonly unknown[] = [...odd, ...texts, ...times, ...long, ...parts];

describe('the JSON Schema of the declared state', () => {
  it.each(examples)('accepts %s', (_file, text) => {
    expect(mistake(parse(text))).toBeUndefined();
  });

  it('is tried on every example of the documentation', () => {
    expect(examples.map(([file]) => file)).toEqual(
      expect.arrayContaining([
        'deploy/demo/tessera.yaml',
        'docs/integrating.md',
        'docs/providers.md',
        'examples/kubelogin/README.md',
        'examples/pipeline/operator.yaml',
        'examples/pipeline/orders.yaml',
        'examples/tessera.yaml',
        'libs/directory/README.md',
      ]),
    );
  });

  it('accepts every key that the reader accepts', () => {
    const state = { owner: 'orders', tenants: [completeTenant] };
    const { tenants } = readDeclaredState(JSON.stringify(state), 'state.yaml', 8).state;
    expect(tenants).toHaveLength(1);
    expect(mistake(state)).toBeUndefined();
    const keysOf = (record: object) => new Set(Object.keys(record));
    const { file = [], tenants: ofTenants = [], ...lists } = reference;
    expect(keysOf(state)).toEqual(new Set(file.map(({ key }) => key)));
    expect(keysOf(completeTenant)).toEqual(new Set(ofTenants.map(({ key }) => key)));
    for (const [kind, rows] of Object.entries(lists)) {
      const records = valueAt(completeTenant, [kind]) as object[];
      const keys = records.flatMap((record) => Object.keys(record));
      expect(new Set(keys)).toEqual(new Set(rows.map(({ key }) => key)));
    }
  });

  it.each(Object.entries(reference).map(([kind]) => kind))(
    'accepts every value that the reader accepts, in every place: %s',
    (kind) => {
      const counts = { accepted: 0, refused: 0, refusedByReaderAlone: 0 };
      for (const state of statesWith(kind)) {
        const paths = pathsIn(state);
        const inUse = paths.map((path) => valueAt(state, path));
        const values = new Map([...tried, ...inUse].map((value) => [JSON.stringify(value), value]));
        for (const path of paths.slice(1)) {
          for (const value of values.values()) {
            const other = changed(state, path, value);
            const isAccepted = validate(other);
            if (!declaredState.safeParse(other).success)
              counts[isAccepted ? 'refusedByReaderAlone' : 'refused'] += 1;
            else if (isAccepted) counts.accepted += 1;
            else expect.fail(`${path.join('.')}: ${JSON.stringify(value)} is refused at ${mistake(other)}`);
          }
        }
      }
      expect(counts.accepted).toBeGreaterThan(5);
      expect(counts.refused).toBeGreaterThan(4 * counts.refusedByReaderAlone);
    },
  );

  it.each([
    ['an unknown key of the file', { tenants: [], tenant: [] }, ' additionalProperties'],
    ['no tenants', {}, ' required'],
    ['tenants by name', { tenants: { acme: {} } }, '/tenants type'],
    ['a tenant without an id', { tenants: [{ name: 'Acme' }] }, '/tenants/0 required'],
  ])('refuses %s', (_what, state, expected) => {
    expect(mistake(state)).toBe(expected);
  });

  it.each([
    ['an unknown key', { colour: 'red' }, ' additionalProperties'],
    ['an id in capitals', { id: 'Acme' }, '/id pattern'],
    ['a number as a name', { name: 7 }, '/name type'],
    ['an unknown choice', { registration: 'everybody' }, '/registration enum'],
    ['an unknown way to sign in', { signInMethods: ['sms'] }, '/signInMethods/0 enum'],
    ['a role as a mapping', { roles: [{ name: 'clerk' }] }, '/roles/0 type'],
    [
      'a phone number without quotes',
      { users: [{ username: 'ada', phoneNumber: 46_701_234_567 }] },
      '/users/0/phoneNumber type',
    ],
    [
      'a user by an unknown key',
      { users: [{ username: 'ada', rolls: [] }] },
      '/users/0 additionalProperties',
    ],
    ['a reference to a user name', { users: [{ usernameFromEnv: 'ADA' }] }, '/users/0 required'],
    [
      'a reference of another record',
      { users: [{ username: 'ada', fromEnv: 'ADA' }] },
      '/users/0 additionalProperties',
    ],
    [
      'an audience with a space',
      { resources: [{ audience: 'a b', name: 'A' }] },
      '/resources/0/audience pattern',
    ],
    [
      'a scope as a number',
      { resources: [{ audience: 'a', name: 'A', scopes: [7] }] },
      '/resources/0/scopes/0 type',
    ],
    [
      'an unknown preset',
      { providers: [{ name: 'a', clientId: 'a', preset: 'aol' }] },
      '/providers/0/preset enum',
    ],
  ])('refuses a tenant with %s', (_what, keys, expected) => {
    expect(mistake({ tenants: [{ id: 'acme', ...keys }] })?.replace('/tenants/0', '')).toBe(expected);
  });

  const application = { clientId: 'a', name: 'A', type: 'public', grantTypes: ['ciba'] };
  const value = 'x'.repeat(32);

  it.each([
    ['an unknown type', { type: 'secret' }, '/type enum'],
    ['an unknown grant', { grantTypes: ['password'] }, '/grantTypes/0 enum'],
    ['a lifetime in words', { lifetimes: { accessToken: 'ten minutes' } }, '/lifetimes/accessToken pattern'],
    ['a lifetime that is too long', { lifetimes: { idToken: 86_401 } }, '/lifetimes/idToken type'],
    ['a channel without approval', { ciba: { delivery: 'poll' } }, '/ciba required'],
    ['a secret without a value', { secrets: [{ expiresAt: '2030-01-31T12:00:00Z' }] }, '/secrets/0 required'],
    ['a secret with two values', { secrets: [{ value, fromEnv: 'A' }] }, '/secrets/0 oneOf'],
    ['three secrets', { secrets: [{ value }, { value }, { value }] }, '/secrets maxItems'],
    ['a secret until some day', { secrets: [{ value, expiresAt: 'soon' }] }, '/secrets/0/expiresAt pattern'],
  ])('refuses an application with %s', (_what, keys, expected) => {
    const state = { tenants: [{ id: 'acme', applications: [{ ...application, ...keys }] }] };
    expect(mistake(state)?.replace('/tenants/0/applications/0', '')).toBe(expected);
  });

  it.each([
    {
      users: [
        { username: 'ada', passwordFromEnv: 'ADA' },
        { username: 'bob', passwordFromFile: 'bob' },
      ],
    },
    { providers: [{ name: 'a', clientId: 'a', clientSecretFromEnv: 'A' }] },
    { providers: [{ name: 'a', clientId: 'a', clientSecretFromFile: 'a' }] },
    { applications: [{ ...application, secrets: [{ fromEnv: 'A' }, { fromFile: 'a' }] }] },
  ])('accepts references: %j', (keys) => {
    expect(mistake({ tenants: [{ id: 'acme', ...keys }] })).toBeUndefined();
  });

  it('describes each key in the words of the reference, without links', () => {
    const text = textsIn(schema, 'description').join('\n');
    expect(text).toContain('\ndomains of e-mail addresses, such as `acme.example`\n');
    expect(text).toContain('built-in scopes, scopes of the tenant, and those of administrators\n');
    expect(text).not.toContain('](');
    expect(text).toContain('\nthe environment variable with the `password`\n');
  });

  it('has patterns that every validator reads alike', () => {
    const patterns = textsIn(schema, 'pattern');
    expect(patterns.length).toBeGreaterThan(50);
    for (const pattern of patterns) {
      expect(pattern).not.toMatch(/\\p|\(\?[<=!]/i);
      expect(() => [new RegExp(pattern), new RegExp(pattern, 'u')]).not.toThrow();
    }
  });
});
