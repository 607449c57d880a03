import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { onPath } from '../../libs/test-kit/src/provision/executable.ts';

/** Where Debian has the libraries, and where Node looks for the loader. */
const architectures = {
  amd64: { triple: 'x86_64-linux-gnu', loader: 'lib64/ld-linux-x86-64.so.2' },
  arm64: { triple: 'aarch64-linux-gnu', loader: 'lib/ld-linux-aarch64.so.1' },
} as const;
export type Architecture = keyof typeof architectures;

export const own: Architecture = process.arch === 'x64' ? 'amd64' : 'arm64';
export const foreign: Architecture = own === 'amd64' ? 'arm64' : 'amd64';

export const loaderOf = (architecture: Architecture) => architectures[architecture].loader;

/** What the build stage runs in addition to Node and npm. */
const programs = ['sh', 'bash', 'env', 'mkdir', 'chmod', 'ln', 'cp', 'sed', 'ldd', 'install'];

/**
 * Root directories as the official image of Node has them, from the files of this machine: for its own architecture one
 * that can build, for the other one that nothing can run in. Each is a build context for `FROM scratch`.
 */
export function makeBases(directory: string): Record<Architecture, string> {
  const bases = { amd64: join(directory, 'amd64'), arm64: join(directory, 'arm64') };
  const shared = makeOwn(bases[own]);
  const { triple, loader } = architectures[foreign];
  for (const name of [basename(loader), ...shared])
    place(join(bases[foreign], 'usr/lib', triple, name), `${name} of ${foreign}`);
  place(join(bases[foreign], 'usr/local/bin/node'), `Node of ${foreign}`);
  return bases;
}

/** Returns the names of the libraries that Node is linked with. */
function makeOwn(root: string): readonly string[] {
  const { triple, loader } = architectures[own];
  const node = join(root, 'usr/local/bin/node');
  copy(process.execPath, node);
  for (const name of programs) copy(onPath(name) ?? '', join(root, 'usr/bin', name));
  const files = [node, ...programs.map((name) => join(root, 'usr/bin', name))];
  for (const library of [join('/', loader), ...files.flatMap(librariesOf)])
    copy(library, join(root, 'usr/lib', triple, basename(library)));
  for (const name of ['lib', 'lib64']) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  // Absolute, as in Debian: a build must not follow it from outside.
  symlinkSync(`/lib/${triple}/${basename(loader)}`, join(root, 'usr', loader));
  symlinkSync('usr/bin', join(root, 'bin'));
  mkdirSync(join(root, 'tmp'));
  const npm = dirname(dirname(realpathSync(onPath('npm') ?? '')));
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  return librariesOf(process.execPath).map((path) => basename(path));
}

/** Without the loader; none for a script, which is not linked. */
function librariesOf(file: string): readonly string[] {
  try {
    const listed = execFileSync('ldd', [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return [...listed.matchAll(/=> (\/\S+)/g)].map(([, path = '']) => path);
  } catch {
    return [];
  }
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(realpathSync(from), to);
}

function place(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
