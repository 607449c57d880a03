/**
 * `npm run pack:cli -- <folder> [version]`: writes `tessera` as a package that needs Node and nothing else: our code
 * and that of the libraries in a few files, with what they read. The folder runs as it is, and `npm pack` and `npm
 * publish` take it.
 */
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown, type Plugin } from 'rolldown';

const root = dirname(import.meta.dirname);

/** What our modules read beside themselves, by the module. The package has it at the same places. */
const read: Readonly<Record<string, readonly string[]>> = {
  'apps/cli/src/client-config/client-config.ts': ['apps/cli/src/client-config/snippets'],
  // The manifest, which is written anew.
  'apps/cli/src/run.ts': [],
  'libs/authorize/src/wiring.ts': ['libs/authorize/sql'],
  'libs/device/src/wiring.ts': ['libs/device/sql'],
  'libs/directory/src/ground/hashing/derive.ts': [],
  'libs/directory/src/ground/passwords/password-policy.ts': [
    'libs/directory/src/ground/passwords/common-passwords.txt',
  ],
  'libs/directory/src/wiring.ts': ['libs/directory/sql'],
  'libs/gateway/src/wiring.ts': ['libs/gateway/views'],
  'libs/keys/src/wiring.ts': ['libs/keys/sql'],
  'libs/languages/src/languages.ts': ['libs/languages/messages'],
  'libs/pages/src/templates.ts': ['libs/pages/views'],
  'libs/people/src/mail/letters.ts': ['libs/people/views'],
  'libs/process/src/management/process-metrics.ts': ['libs/process/package.json'],
  'libs/token/src/wiring.ts': ['libs/token/sql'],
};

/** A thread of its own, started by its path. */
const thread = 'libs/directory/src/ground/hashing/bcrypt-thread';

/** What a server with embedded stores loads, and the command never; libraries try the others, and do without. */
const absent = ['@electric-sql/pglite', 'pg-native'];

interface Manifest {
  readonly version: string;
  readonly license: string;
}

/** Keeps the places of files that modules read, and finds out which they are. */
function keepPlaces(found: Set<string>): Plugin {
  return {
    name: 'keep-places',
    transform(code, id) {
      const path = relative(root, id);
      const isOurs = id.startsWith(`${root}/`) && !path.includes('node_modules/');
      if (!isOurs || !code.includes('import.meta.url')) return undefined;
      const files = read[path];
      if (files === undefined)
        throw new Error(`${path} reads something beside itself: say what, in this script.`);
      for (const file of files) found.add(file);
      // Chunks lie in one folder, whatever module their code is from.
      return code
        .replaceAll('import.meta.url', `new URL(${JSON.stringify(`../${path}`)}, import.meta.url).href`)
        .replaceAll("'./bcrypt-thread.ts'", "'./bcrypt-thread.js'");
    },
  };
}

/** Writes the package; resolves with the names of the packages of others whose code it has. */
export async function packCli(target: string, version?: string): Promise<readonly string[]> {
  const files = new Set<string>();
  const bundle = await rolldown({
    cwd: root,
    input: { tessera: join(root, 'apps/cli/src/main.ts'), [thread]: join(root, `${thread}.ts`) },
    platform: 'node',
    external: absent,
    plugins: [keepPlaces(files)],
    onLog(level, log, pass) {
      // Of the libraries, which read what only some systems have.
      if (level === 'warn' && log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      if (level !== 'warn') pass(level, log);
    },
  });
  const { output } = await bundle.write({
    dir: target,
    format: 'esm',
    entryFileNames: ({ name }) => (name === 'tessera' ? 'bin/tessera.js' : `${name}.js`),
    chunkFileNames: 'bin/[name]-[hash].js',
  });
  await bundle.close();
  for (const file of files) cpSync(join(root, file), join(target, file), { recursive: true });
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  const others = [...new Set(modules.flatMap(packageOf))].toSorted();
  writeFileSync(join(target, 'THIRD-PARTY-LICENSES'), others.map(licenseOf).join('\n'));
  for (const [path, from] of [
    ['LICENSE', 'LICENSE'],
    ['README.md', 'apps/cli/README.md'],
  ] as const)
    cpSync(join(root, from), join(target, path));
  const made = manifest(version);
  // What the command says of itself.
  for (const path of ['package.json', 'apps/cli/package.json'])
    writeFileSync(join(target, path), `${JSON.stringify(made, undefined, 2)}\n`);
  return others;
}

function manifest(given?: string) {
  const text = readFileSync(join(root, 'apps/cli/package.json'), 'utf8');
  const { license, ...own } = JSON.parse(text) as Manifest;
  const version = given ?? own.version;
  return {
    name: '@tessera/cli',
    version,
    description: 'Operates Tessera and tries its flows',
    license,
    type: 'module',
    engines: { node: '>=22' },
    bin: { tessera: './bin/tessera.js' },
  };
}

/** The folder of the package of others that a module is of. */
function packageOf(id: string): string[] {
  const [, folder] = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
  return folder === undefined ? [] : [relative(root, folder)];
}

/** What the license of a package of others asks to be given with its code. */
function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  ) as Manifest & { readonly name: string };
  const texts = globSync('{LICENSE,LICENCE,NOTICE}*', { cwd: join(root, folder) });
  const said = texts.map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...said, ''].join('\n\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'tessera-cli-'));
  mkdirSync(target, { recursive: true });
  await packCli(target, process.argv[3]);
  console.log(`written to ${target}`);
}
