/**
 * Messages on the wire stay readable by what runs already: compares the protos with their earlier state, which is where
 * the branch left main, or on main the commit before.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const git = (...args: string[]): Buffer => execFileSync('git', args, { stdio: ['ignore', 'pipe', 'ignore'] });

function tryGit(...args: string[]): string | undefined {
  try {
    return git(...args)
      .toString()
      .trim();
  } catch {
    return undefined;
  }
}

function earlierState(): string | undefined {
  const head = tryGit('rev-parse', 'HEAD');
  for (const main of ['origin/main', 'main']) {
    const base = tryGit('merge-base', main, 'HEAD');
    if (base !== undefined && base !== head) return base;
  }
  return tryGit('rev-parse', '--verify', 'HEAD^');
}

function compareWith(commit: string): number {
  const paths = git('ls-tree', '-r', '--name-only', commit, 'proto', 'buf.yaml')
    .toString()
    .split('\n')
    .filter(Boolean);
  if (!paths.some((path) => path.endsWith('.proto'))) {
    console.log(`No protos at ${commit}: nothing to compare with.`);
    return 0;
  }
  const before = mkdtempSync(join(tmpdir(), 'tessera-protos-'));
  try {
    for (const path of paths) {
      mkdirSync(dirname(join(before, path)), { recursive: true });
      writeFileSync(join(before, path), git('show', `${commit}:${path}`));
    }
    return spawnSync('buf', ['breaking', '--against', before], { stdio: 'inherit' }).status ?? 1;
  } finally {
    rmSync(before, { recursive: true });
  }
}

const commit = earlierState();
if (commit === undefined) console.log('No earlier commit: nothing to compare with.');
else process.exitCode = compareWith(commit);
