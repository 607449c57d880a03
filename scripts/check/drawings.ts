/**
 * How a file is found: the drawing on top of each library's index.ts exists and names folders and files that do, and no
 * two rooms have a file of the same name. Whom the system calls: docs/architecture.md draws each way out that a service
 * opens, and no other.
 */
import { basename, dirname } from 'node:path';
import { filesMatching, readText } from './files.ts';
import { report } from './report.ts';

/**
 * Names that mean the same in every service, and in every kind of record of the directory; with those of their tests.
 */
const agreed = new RegExp(
  `^(?:${[
    'index|main|config|wiring|service|store|audit|messages',
    'kind|fields|checks|desired|table.postgres|commands.postgres|read.postgres',
    'world|budget.test',
  ].join('|')})\\.`,
);

const architecture = 'docs/architecture.md';

/** What others install or tests use, and the library of requests itself. */
const libraries = new Set(['outbound', 'introspection-client', 'admin-client', 'test-kit', 'test-client']);

const openers = [
  ['HTTPS', /\bcreate(?:Send|Fetch)\(/],
  ['SMTP', /import\('nodemailer'\)/],
] as const;

report(
  [...filesMatching('libs/*/src/index.ts').flatMap(problemsOf), ...sameNames(), ...waysOut()],
  'Draw in the first comment, indented by five spaces, what the library is made of and who calls whom. Name a file after what it does in its room. ' +
    'Draw in docs/architecture.md whom a service calls outside.',
);

function sameNames(): string[] {
  const files = filesMatching('{libs,apps}/*/src/**/*.ts').filter(
    (path) => !path.startsWith('libs/proto-gen/'),
  );
  const byName = Object.groupBy(files, (path) => basename(path));
  return Object.entries(byName).flatMap(([name, paths = []]) =>
    paths.length === 1 || agreed.test(name) ? [] : [`${paths.join(', ')}: have the same name`],
  );
}

function problemsOf(path: string): string[] {
  const [comment = ''] = /^\/\*\*[^]*?\*\//.exec(readText(path)) ?? [];
  const drawing = comment.split('\n').filter((line) => line.startsWith(' *     '));
  if (drawing.length < 3) return [`${path}: has no drawing`];
  const files = filesMatching(`${dirname(path)}/**/*.ts`);
  const names = new Set([
    ...files.map((file) => basename(file, '.ts')),
    ...files.flatMap((file) => dirname(file).split('/')),
  ]);
  // A name with a dash or a slash at its end can only be one of ours; other words may be anything.
  const drawn = drawing.flatMap(
    (line) => line.match(/(?<![\w/])[a-z]+(?:-[a-z]+)+|[a-z-]+(?=\/(?!\/))/g) ?? [],
  );
  return [...new Set(drawn)]
    .filter((name) => !names.has(name))
    .map((name) => `${path}: draws ${name}, which does not exist`);
}

/** Calls of others, by what opens them in the code. */
function waysOut(): string[] {
  const drawing = /```mermaid\n([^]*?)```/.exec(readText(architecture))?.[1] ?? '';
  const outside = [...drawing.matchAll(/^ +(\w+) -->\|(HTTPS|SMTP)[^|]*\| \w+\["/gm)];
  const drawn = new Set(outside.map(([, service, protocol]) => `${service} --> ${protocol}`));
  const opened = new Map<string, string>();
  for (const path of filesMatching('libs/*/src/**/*.ts')) {
    const [, room = ''] = path.split('/');
    if (libraries.has(room) || /\.test\.ts$|\/testing\//.test(path)) continue;
    const text = readText(path);
    const service = room === 'people' ? 'directory' : room;
    for (const [protocol, opens] of openers)
      if (opens.test(text)) opened.set(`${service} --> ${protocol}`, path);
  }
  const missing = [...opened].filter(([way]) => !drawn.has(way));
  return [
    ...missing.map(([way, path]) => `${path}: opens ${way}, which ${architecture} does not draw`),
    ...[...drawn]
      .filter((way) => !opened.has(way))
      .map((way) => `${architecture}: draws ${way}, which nothing opens`),
  ];
}
