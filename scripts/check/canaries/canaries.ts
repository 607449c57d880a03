/**
 * Every guard is alive: plants violations in copies of the work tree, runs each guard's own command there, and expects
 * every violation to be named. A guard that was removed, weakened or pointed elsewhere fails here.
 */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { filesMatching, readText } from '../files.ts';
import { plants } from './plants.ts';
import { report } from '../report.ts';

interface Project {
  readonly targets: Readonly<
    Record<string, { readonly command?: string; readonly dependsOn?: readonly string[] }>
  >;
}

const { targets } = JSON.parse(readText('project.json')) as Project;
const checks = targets['check']?.dependsOn ?? [];

/** The guard's own command: from project.json, or for the tests' guard the one behind `npm test`. */
function commandOf(guard: string): string | undefined {
  if (guard === 'test') return 'node node_modules/vitest/vitest.mjs run libs/canary';
  const command = checks.includes(guard) ? targets[guard]?.command : undefined;
  // One line for each finding, instead of the excerpts that people read.
  return guard === 'lint' && command !== undefined ? `${command} --format=unix` : command;
}

interface Copy {
  readonly guards: readonly string[];
  readonly isLeftOut: (path: string) => boolean;
}

const guards = [...new Set(plants.map(({ guard }) => guard))];

/** They judge each file by itself, and take as long as there are files: there are none but settings. */
const judges = guards.filter((guard) => ['lint', 'typecheck', 'format', 'unused'].includes(guard));
const copies: readonly Copy[] = [
  { guards: judges, isLeftOut: (path) => !/json$|(^|\/)\.[^/]+$/u.test(path) },
  {
    guards: guards.filter((guard) => !judges.includes(guard)),
    isLeftOut: (path) => path.endsWith('.test.ts'),
  },
];

function plantInCopy({ guards: planted, isLeftOut }: Copy): string {
  const copy = mkdtempSync(join(tmpdir(), 'tessera-canary-'));
  const write = (path: string, put: (target: string) => void) => {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    put(join(copy, path));
  };
  for (const path of filesMatching('**/*', '**/.*', '.*/**/*')) {
    if (!isLeftOut(path)) write(path, (target) => cpSync(path, target));
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  if (existsSync(join(copy, 'proto'))) commitProtos(copy);
  for (const { path, text, edit } of plants.filter(({ guard }) => planted.includes(guard))) {
    write(path, (target) => writeFileSync(target, edit ? edit(readText(target)) : (text ?? '')));
  }
  return copy;
}

/** What the guard of changes compares with. */
function commitProtos(copy: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=canary', '-c', 'user.email=canary@localhost', ...args], {
      cwd: copy,
    });
  git('init', '-q', '-b', 'main');
  git('add', 'proto', 'buf.yaml');
  git('commit', '-q', '-m', 'Earlier state');
  git('commit', '-q', '-m', 'Later state', '--allow-empty');
}

/** Lines a guard prints when it fails; none when it is content. */
function linesOf(command: string, cwd: string): Promise<string[]> {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' };
  return new Promise((resolve) => {
    execFile('/bin/sh', ['-c', command], { cwd, env, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve(error ? `${stdout}\n${stderr}`.split('\n') : []);
    });
  });
}

async function asleep(guard: string, copy: string): Promise<string[]> {
  const command = commandOf(guard);
  if (command === undefined) return [`${guard}: not among the checks`];
  const lines = await linesOf(command, copy);
  return plants
    .filter((plant) => plant.guard === guard)
    .filter(({ path, expect }) => !lines.some((line) => line.includes(path) && expect.test(line)))
    .map(({ path, expect }) => `${guard}: let ${path} pass, without a word of ${String(expect)}`);
}

async function asleepIn(copy: Copy): Promise<string[]> {
  const folder = plantInCopy(copy);
  try {
    return (await Promise.all(copy.guards.map((guard) => asleep(guard, folder)))).flat();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const unwatched = checks.filter((name) => name !== 'canaries' && !guards.includes(name));
const silent = await Promise.all(copies.map(asleepIn));
report(
  [...unwatched.map((name) => `${name}: has no canary`), ...silent.flat()],
  'Each guard must name its planted violation: mend the guard, or its canary in scripts/check/canaries/plants.ts.',
);
