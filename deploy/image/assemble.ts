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
import { processes } from './processes.ts';

const repository = dirname(dirname(import.meta.dirname));

/** What is for tests only, by the same names as in scripts/check/packages.ts. */
const forTests = /\.(?:test|contract)\.ts$|\/(?:contract|testing)\//;

/** Paths that are copied as they are. */
const plain = [
  'LICENSE',
  'package.json',
  'package-lock.json',
  '.npmrc',
  'deploy/demo/tessera.yaml',
  'deploy/image/processes.ts',
  'deploy/image/start.ts',
  'deploy/image/healthcheck.ts',
  'deploy/image/make-secrets.ts',
];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

const manifest = (folder: string) =>
  JSON.parse(readFileSync(join(repository, folder, 'package.json'), 'utf8')) as Manifest;

/** The folders of the processes and of every library of ours that they come to depend on. */
function shippedFolders(): string[] {
  const libraries = new Map(
    globSync('libs/*', { cwd: repository }).map((path) => [manifest(path).name, path]),
  );
  const found = new Set<string>();
  const visit = (folder: string): void => {
    if (found.has(folder)) return;
    found.add(folder);
    for (const name of Object.keys(manifest(folder).dependencies ?? {})) {
      const library = libraries.get(name);
      if (library !== undefined) visit(library);
    }
  };
  for (const folder of processFolders()) visit(folder);
  return [...found].toSorted();
}

const processFolders = () => Object.values(processes).map((entry) => entry.split('/').slice(0, 2).join('/'));

function copy(path: string, target: string): void {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  cpSync(join(repository, path), join(target, path));
}

function assemble(target: string): void {
  if (existsSync(target) && readdirSync(target).length > 0) throw new Error(`${target} is not empty.`);
  for (const path of plain) copy(path, target);
  for (const folder of shippedFolders()) {
    const files = globSync(`${folder}/{package.json,src/**/*,sql/**/*,views/**/*}`, {
      cwd: repository,
      withFileTypes: true,
    });
    for (const file of files) {
      const path = join(file.parentPath, file.name).slice(repository.length + 1);
      if (file.isFile() && !forTests.test(path)) copy(path, target);
    }
  }
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
  const { name, version, workspaces = [] } = manifest('.');
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
