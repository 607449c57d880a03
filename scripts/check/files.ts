import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders that hold nothing of the repository. */
const foreign = new Set(['node_modules', '.git', '.nx', '.tessera', 'coverage', 'test-output']);

/** Paths of the files below the working directory that match, relative to it, in order. */
export function filesMatching(...patterns: readonly string[]): string[] {
  return globSync([...patterns], {
    withFileTypes: true,
    exclude: (entry) => foreign.has(entry.name),
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).replace(`${process.cwd()}/`, ''))
    .sort();
}

export const readText = (path: string): string => readFileSync(path, 'utf8');
