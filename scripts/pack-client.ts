/**
 * `npm run pack:introspection-client -- <folder>`, `npm run pack:admin-client -- <folder>`: writes a client as others
 * install it, with compiled code, types, and the messages inside, as a folder that `npm pack` and `npm publish` take.
 * npm brings the compiler.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(import.meta.dirname);
const messages = join(root, 'libs/proto-gen/src/tessera');
const isForTests = (path: string) => /\.test\.ts$|(?:^|\/)testing\//.test(path);

/** What a client takes from the other packages: others have no packages for it. */
interface Inside {
  readonly description: string;
  readonly readme: string;
  /** Files and folders of this repository, by where the package has them. */
  readonly copies: Readonly<Record<string, string>>;
  /** Generated files below `libs/proto-gen/src/tessera`, which come with what they import. */
  readonly messages: readonly string[];
  /** Where the package has what its sources import from ours. */
  readonly imports: Readonly<Record<string, string>>;
  /** Further files of the package. */
  readonly files?: Readonly<Record<string, string>>;
}

const administration = globSync('admin/v1/*_pb.ts', { cwd: messages });

const clients = {
  'introspection-client': {
    description: 'Asks Tessera whether tokens are good',
    readme: 'docs/introspection.md',
    copies: {
      'follow-stream.ts': 'libs/kit/src/follow-stream.ts',
      'repeat.ts': 'libs/kit/src/repeat.ts',
      'silence-timer.ts': 'libs/kit/src/silence-timer.ts',
      'client-assertion.ts': 'libs/oauth/src/request/client-assertion.ts',
      'signing-algorithms.ts': 'libs/oauth/src/signing-algorithms.ts',
      grpc: 'libs/rpc/src/client/channel',
    },
    messages: ['token/v1/token_pb.ts'],
    imports: {
      '@tessera/proto-gen/token': 'messages/token/v1/token_pb.ts',
      '@tessera/kit/follow-stream': 'follow-stream.ts',
      '@tessera/oauth/client-assertion': 'client-assertion.ts',
      '@tessera/oauth/signing-algorithms': 'signing-algorithms.ts',
      '@tessera/rpc/client': 'grpc/grpc-client.ts',
      '@tessera/rpc/client/certificates': 'grpc/certificates.ts',
    },
  },
  'admin-client': {
    description: 'Calls the administration API of Tessera',
    readme: 'libs/admin-client/README.md',
    files: { 'reference.md': 'libs/admin-client/reference.md' },
    copies: {
      'client-assertion.ts': 'libs/oauth/src/request/client-assertion.ts',
      'access-token-source.ts': 'libs/introspection-client/src/access-token-source.ts',
      'messages/error-details.ts': 'libs/proto-gen/src/google/rpc/error_details_pb.ts',
    },
    messages: administration,
    imports: {
      '@tessera/oauth/client-assertion': 'client-assertion.ts',
      '@tessera/introspection-client/access-token-source': 'access-token-source.ts',
      '@tessera/proto-gen/error-details': 'messages/error-details.ts',
      ...Object.fromEntries(
        administration.map((path) => [
          `@tessera/proto-gen/admin-${path.replace(/^.*\/|_pb\.ts$/g, '')}`,
          `messages/${path}`,
        ]),
      ),
    },
  },
} as const satisfies Readonly<Record<string, Inside>>;

export type ClientPackage = keyof typeof clients;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

export function packClient(client: ClientPackage, target: string): void {
  const inside: Inside = clients[client];
  const source = join(root, 'libs', client);
  // Inside the repository, so that the compiler finds what the package depends on.
  const work = mkdtempSync(join(root, `node_modules/.${client}-`));
  try {
    copySources(join(source, 'src'), inside, join(work, 'src'));
    compile(work, resolve(target));
  } finally {
    rmSync(work, { recursive: true });
  }
  const { name, version, dependencies } = JSON.parse(
    readFileSync(join(source, 'package.json'), 'utf8'),
  ) as Manifest;
  const published = Object.fromEntries(
    Object.entries(dependencies).filter(([dependency]) => !dependency.startsWith('@tessera/')),
  );
  const manifest = {
    name,
    version,
    description: inside.description,
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: '>=20.12' },
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    dependencies: published,
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const others = { 'README.md': inside.readme, LICENSE: 'LICENSE', ...inside.files };
  for (const [path, from] of Object.entries(others)) cpSync(join(root, from), join(target, path));
}

function copySources(source: string, { copies, messages: files, imports }: Inside, to: string): void {
  for (const path of globSync('**/*.ts', { cwd: source })) {
    if (!isForTests(path)) copySource(join(source, path), { path, to, imports });
  }
  for (const path of withImports(files)) cpSync(join(messages, path), join(to, 'messages', path));
  for (const [path, from] of Object.entries(copies)) {
    if (from.endsWith('.ts')) copySource(join(root, from), { path, to, imports });
    else cpSync(join(root, from), join(to, path), { recursive: true });
  }
}

/** Copies a file, which imports from where the package has what it imports from ours. */
function copySource(
  file: string,
  { path, to, imports }: { path: string; to: string; imports: Inside['imports'] },
): void {
  const text = readFileSync(file, 'utf8');
  const up = '../'.repeat(path.split('/').length - 1) || './';
  mkdirSync(dirname(join(to, path)), { recursive: true });
  writeFileSync(
    join(to, path),
    Object.entries(imports).reduce(
      (changed, [ours, place]) => changed.replaceAll(`'${ours}'`, `'${up}${place}'`),
      text,
    ),
  );
}

/** Generated files, and those that they import. */
function withImports(paths: readonly string[], found = new Set<string>()): ReadonlySet<string> {
  for (const path of paths) {
    if (found.has(path)) continue;
    found.add(path);
    const imported = readFileSync(join(messages, path), 'utf8').matchAll(/ from "(\.[^"]+)"/g);
    withImports(
      [...imported].map(([, specifier = '']) => normalize(join(dirname(path), specifier))),
      found,
    );
  }
  return found;
}

function compile(work: string, outDir: string): void {
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    // What Node 20 knows: the compiler refuses the rest.
    target: 'es2023',
    lib: ['es2023'],
    rootDir: 'src',
    outDir,
  };
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['src'] };
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify(config));
  execFileSync('tsc', ['-p', work, '--pretty', 'false'], { stdio: 'inherit' });
  // The compiler rewrites the imports of code, not those of declarations.
  for (const path of globSync('**/*.d.ts', { cwd: outDir })) {
    const text = readFileSync(join(outDir, path), 'utf8');
    writeFileSync(join(outDir, path), text.replaceAll(/(['"]\.[^'"\n]*)\.ts(?=['"])/g, '$1.js'));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const client = process.argv[2] as ClientPackage;
  const target = process.argv[3] ?? mkdtempSync(join(tmpdir(), `${client}-`));
  packClient(client, target);
  console.log(`written to ${target}`);
}
