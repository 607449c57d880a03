import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../../', import.meta.url);
const document = readFileSync(new URL('docs/audit.md', root), 'utf8');

/** Placeholder for the variable parts of composed names. */
const meanings: Readonly<Record<string, readonly string[]>> = {
  'flowOf[request.kind]': ['device', 'ciba'],
  'flowOf[client.kind]': ['device', 'ciba'],
  decision: ['approved', 'denied'],
  'after.status': ['active', 'disabled', 'locked'],
  name: ['active', 'disabled', 'locked'],
};

/**
 * String literals of the form `word.word`, except names of statements, tables, columns, locks, failpoints and limits.
 */
const names =
  /(?<!name: |failpoint\(|ValidFrom\(|isAdministered\()(?:'(?!tessera\.)([a-z_]+(?:\.[a-z_]+)+)'|`((?!keys\.)[a-z_]+\.\$\{[^}]+\}|\$\{[^}]+\}\.(?:[a-z_]+|\$\{[^}]+\}))`)/g;
const makesEvents =
  /\bauditRow\b|\bAuditEvent\b|\bAuditBatch\b|\binsertAuditRows\b|\bchangePerson\b|\baudit\.add\(|from '[./]+audit(?:-events)?\.ts'/;

/** Services with rooms in several packages. */
const rooms: Readonly<Record<string, string>> = { directory: '{directory,people}' };

function madeBy(service: string): string[] {
  const files = globSync(`libs/${rooms[service] ?? service}/src/**/*.ts`, {
    cwd: root,
    exclude: ['**/*.{test,contract}.ts', '**/{testing,contract}/**'],
  });
  const made = files.flatMap((path) => {
    const text = readFileSync(new URL(path, root), 'utf8');
    if (!makesEvents.test(text)) return [];
    return [...text.matchAll(names)].flatMap(([, plain, made = '']) => spelledOut(plain ?? made));
  });
  return [...new Set(made)].toSorted();
}

function spelledOut(name: string): string[] {
  const [part, expression = ''] = /\$\{([^}]+)\}/.exec(name) ?? [];
  if (part === undefined) return [name];
  const values = meanings[expression];
  if (values === undefined) throw new Error(`What does ${part} in ${name} stand for?`);
  return values.flatMap((value) => spelledOut(name.replace(part, value)));
}

it.each(['authorize', 'token', 'device', 'directory', 'keys'])(
  'docs/audit.md lists the events of %s, all of them and no others',
  (service) => {
    const section = document.split(`\n### ${service}\n`)[1]?.split(/\n##/)[0] ?? '';
    const heads = [...section.matchAll(/^- ((?:`[a-z_.]+`(?:, )?)+): /gm)].map(([, head = '']) => head);
    const listed = heads.flatMap((head) => [...head.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
    expect(listed.toSorted()).toEqual(madeBy(service));
  },
);
