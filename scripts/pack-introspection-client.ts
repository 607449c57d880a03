/**
 * `npm run pack:introspection-client -- <folder>`: writes `@tessera/introspection-client` as others install it, with compiled
 * code, types, and the messages inside, as a folder that `npm pack` and `npm publish` take. npm brings the compiler.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(import.meta.dirname);
const source = join(root, 'libs/introspection-client');
const messages = join(root, 'libs/proto-gen/src/tessera');
const kit = join(root, 'libs/kit/src');
const algorithms = join(root, 'libs/oauth/src/signing-algorithms.ts');
const grpcClient = join(root, 'libs/rpc/src/client/channel');
const isForTests = (path: string) => /\.test\.ts$|(?:^|\/)testing\//.test(path);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

export function packIntrospectionClient(target: string): void {
  // Inside the repository, so that the compiler finds what the package depends on.
  const work = mkdtempSync(join(root, 'node_modules/.introspection-client-'));
  try {
    copySources(join(work, 'src'));
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
    description: 'Asks Tessera whether tokens are good',
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: '>=20.12' },
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    dependencies: published,
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  cpSync(join(root, 'docs/introspection.md'), join(target, 'README.md'));
  cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
}

/** The messages, the gRPC client, `followStream` and the algorithms come from inside the package: others have no packages for them. */
function copySources(to: string): void {
  for (const path of globSync('**/*.ts', { cwd: join(source, 'src') })) {
    if (isForTests(path)) continue;
    const text = readFileSync(join(source, 'src', path), 'utf8');
    const up = '../'.repeat(path.split('/').length - 1) || './';
    mkdirSync(dirname(join(to, path)), { recursive: true });
    writeFileSync(
      join(to, path),
      text
        .replaceAll(`'@tessera/proto-gen/token'`, `'${up}messages/token/v1/token_pb.ts'`)
        .replaceAll(`'@tessera/kit/follow-stream'`, `'${up}follow-stream.ts'`)
        .replaceAll(`'@tessera/oauth/signing-algorithms'`, `'${up}signing-algorithms.ts'`)
        .replaceAll(`'@tessera/rpc/client'`, `'${up}grpc/grpc-client.ts'`)
        .replaceAll(`'@tessera/rpc/client/certificates'`, `'${up}grpc/certificates.ts'`),
    );
  }
  for (const path of ['token/v1/token_pb.ts', 'access/v1/access_pb.ts'])
    cpSync(join(messages, path), join(to, 'messages', path));
  for (const name of ['follow-stream.ts', 'repeat.ts', 'silence-timer.ts'])
    cpSync(join(kit, name), join(to, name));
  cpSync(algorithms, join(to, 'signing-algorithms.ts'));
  cpSync(grpcClient, join(to, 'grpc'), { recursive: true });
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
  const target = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'introspection-client-'));
  packIntrospectionClient(target);
  console.log(`written to ${target}`);
}
