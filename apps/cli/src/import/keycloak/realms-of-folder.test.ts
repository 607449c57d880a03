import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { migrations as directoryMigrations } from '@tessera/directory';
import { newDatabaseUrl } from '@tessera/test-kit';
import { arrivedIn } from '../../testing/arrived.ts';
import { pepper, printed } from '../../testing/run-command.ts';
import type { Node } from '../../testing/values-in-export.ts';
import { realmsIn, widerRights } from '../../testing/wider-rights.ts';
import { CommandError } from '../../terminal.ts';
import { importedRealm } from './imported-realm.ts';
import { knownKeys } from './realm/known-keys.ts';

/** Exports of realms: one that Keycloak wrote for an example, or all of a folder. */
const folder =
  process.env['TESSERA_TEST_REALMS'] ??
  fileURLToPath(new URL('../../../../../examples/keycloak', import.meta.url));
const exports = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .flatMap((file) =>
    realmsIn(readFileSync(join(folder, file), 'utf8')).map((realm): [string, Node] => [file, realm]),
  );

/** The paths of all objects, such as `clients`, `0`, `attributes`. */
function objectsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([key, each]) => objectsIn(each, [...path, key]));
  return Array.isArray(value) ? below : [path, ...below];
}

const { of, isMap, same } = knownKeys(() => false);

/** The patterns down to an object, as lines name them. */
function patternsOf(path: readonly string[], realm: Node): string[] {
  let [pattern, value] = ['', realm as unknown];
  return path.map((key) => {
    if (Array.isArray(value)) pattern += '[]';
    else pattern += `${pattern === '' ? '' : '.'}${isMap(pattern) ? '*' : key}`;
    value = (value as Record<string, unknown>)[key];
    pattern = same(pattern);
    return pattern;
  });
}

/** Whether the new key has a line, or the file is refused for it. */
function isTold(realm: Node): boolean {
  try {
    const { leftOut } = importedRealm([{ name: 'realm.json', text: JSON.stringify(realm) }]);
    return leftOut.some((line) => /\bzzNew\b.*: nobody knows this key$/.test(line));
  } catch (error) {
    return error instanceof CommandError && error.message.includes('zzNew');
  }
}

/** What has a line as a whole, or is of Keycloak itself: its keys have none of their own. */
const asWhole = /^(clients|clientScopes|users)\[\]|\.protocolMappers\[\]/;

describe.each(exports)('of %s', (file, realm) => {
  const whole = importedRealm([{ name: file, text: JSON.stringify(realm) }]);

  it('every key is read, known, or has a line', () => {
    expect(whole.leftOut.filter((line) => line.endsWith(': nobody knows this key'))).toEqual([]);
    const objects = objectsIn(realm);
    const chosen = objects.filter((_, index) => index % Math.ceil(objects.length / 60) === 0);
    for (const path of chosen) {
      const copy = structuredClone(realm);
      const target = path.reduce((at: unknown, key) => (at as Record<string, unknown>)[key], copy);
      (target as Record<string, unknown>)['zzNew'] = 'a value';
      const patterns = patternsOf([...path, 'zzNew'], copy);
      if (isTold(copy)) continue;
      // Names that somebody chose are none of the import's keys.
      const isCovered = patterns.some((pattern) => of(pattern) !== undefined || pattern.endsWith('*'));
      if (!isCovered) expect(patterns.at(-1)).toMatch(asWhole);
    }
  });

  it('nobody and nothing has more rights than before, as the records are read back', async () => {
    const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
    const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
    const run = async (words: string, input = '') =>
      printed(`${words} --direct`, environment, undefined, input);
    const issuer = 'https://sso.example/realms/moved';
    for (const more of ['', ' --keep-wildcards']) {
      const words = `import keycloak - --tenant moved --issuer ${issuer}${more}`;
      const { code, said } = await run(words, JSON.stringify(realm));
      expect(code, said).toBe(0);
      const { out } = await run('get --tenant moved');
      const arrived = await arrivedIn(DATABASE_URL, 'moved', out);
      expect(arrived.applications.length + arrived.people.length).toBeGreaterThan(0);
      expect(widerRights(realm, arrived)).toEqual([]);
    }
  });
});
