/**
 * `node deploy/image/assemble.ts <directory>`: what the image holds under /app, in an empty directory. The Dockerfile
 * runs this and nothing else, so that a tree assembled without a container engine is the same.
 *
 * Sources run as they are (docs/adr/0001-toolchain.md): the processes and the libraries without their tests,
 * and production dependencies from the lock file, installed without running any script of theirs.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { processFolders, repository, shippedFiles } from './shipped-files.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

function copy(path: string, target: string): void {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  cpSync(join(repository, path), join(target, path));
}

function assemble(target: string): void {
  if (existsSync(target) && readdirSync(target).length > 0) throw new Error(`${target} is not empty.`);
  for (const path of shippedFiles()) copy(path, target);
  const workspaces = processFolders().flatMap((folder) => ['--workspace', folder]);
  npm(target, ['ci', ...workspaces]);
  forRunning(target);
}

function npm(target: string, command: readonly string[]): void {
  execFileSync('npm', [...command, '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: target,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** What installing needed and running does not; without it the tree also is what `npm sbom` takes it for. */
function forRunning(target: string): void {
  rmSync(join(target, 'package-lock.json'));
  const manifest = readFileSync(join(repository, 'package.json'), 'utf8');
  const { name, version, workspaces = [] } = JSON.parse(manifest) as Manifest;
  const remaining = { name, version, private: true, type: 'module', workspaces };
  writeJson(join(target, 'package.json'), remaining);
  dropTypes(target);
}

/** Some packages list type declarations among what they need to run. Whatever only those needed goes with them. */
function dropTypes(target: string): void {
  rmSync(join(target, 'node_modules/@types'), { recursive: true, force: true });
  for (const path of globSync('node_modules/{*,@*/*}/package.json', { cwd: target })) {
    const installed = JSON.parse(readFileSync(join(target, path), 'utf8')) as Manifest;
    const needed = Object.entries(installed.dependencies ?? {});
    const dependencies = needed.filter(([name]) => !name.startsWith('@types/'));
    if (dependencies.length < needed.length)
      writeJson(join(target, path), { ...installed, dependencies: Object.fromEntries(dependencies) });
  }
  npm(target, ['prune', '--offline', '--no-package-lock']);
}

function writeJson(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

const target = process.argv[2];
if (target === undefined) {
  process.stderr.write(
    'Name the directory to assemble the image in: node deploy/image/assemble.ts <directory>\n',
  );
  process.exitCode = 1;
} else {
  assemble(target);
}
