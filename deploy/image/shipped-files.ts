import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { processes } from './processes.ts';

export const repository = dirname(dirname(import.meta.dirname));

/** What is for tests only, by the same names as in scripts/check/packages.ts. */
const forTests = /\.(?:test|contract)\.ts$|\/(?:contract|testing)\//;

/** What a process or a library may read while it runs. */
const parts = ['package.json', 'src', 'sql', 'views', 'messages'];

/** Paths beside the processes and the libraries. */
const beside = [
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
  readonly dependencies?: Readonly<Record<string, string>>;
}

const manifest = (folder: string) =>
  JSON.parse(readFileSync(join(repository, folder, 'package.json'), 'utf8')) as Manifest;

/** The workspaces of the processes. */
export const processFolders = (): readonly string[] =>
  Object.values(processes).map((entry) => entry.split('/').slice(0, 2).join('/'));

/** The folders of the processes and of every library of ours that they come to depend on. */
export function shippedFolders(): readonly string[] {
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

/** The files of ours that the image holds, as paths from the root of the repository. */
export function shippedFiles(): readonly string[] {
  const ours = globSync(`{${shippedFolders().join(',')}}/{${parts.join(',')}}{,/**/*}`, {
    cwd: repository,
    withFileTypes: true,
  })
    .filter((file) => file.isFile())
    .map((file) => relative(repository, join(file.parentPath, file.name)));
  return [...beside, ...ours.filter((path) => !forTests.test(path))];
}
