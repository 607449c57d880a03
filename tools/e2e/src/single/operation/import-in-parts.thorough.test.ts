import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '@tessera/test-kit/provision';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const count = Number(process.env['TESSERA_TEST_IMPORTED_PEOPLE'] ?? 20_000);
const longestMs = 30 * 60_000;

const nameOf = (index: number) => `p${String(index).padStart(6, '0')}`;
/** At first nobody has the name that everybody gets by the second file. */
const people = (name?: string) =>
  Array.from({ length: count }, (_, index) => {
    const username = nameOf(index);
    return { username, email: `${username}@moved.example`, ...(name !== undefined && { name }) };
  });

let system: System;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  system = await startSystem(setUps['compact-embedded']);
});
afterAll(async () => {
  await system?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Runs the command as a process that can be killed. */
function tessera(words: string) {
  const { TESSERA_DATA_DIR = '' } = system.environmentOf('standalone');
  const child = spawn(process.execPath, ['apps/cli/src/main.ts', ...words.split(' ')], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', TESSERA_DATA_DIR },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { out: '', said: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (printed.said += chunk.toString('utf8')));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { printed, ended, kill: () => child.kill('SIGKILL') };
}

async function done(words: string): Promise<{ readonly out: string; readonly said: string }> {
  const { printed, ended } = tessera(words);
  expect(await ended, printed.said).toBe(0);
  return printed;
}

interface Listed {
  readonly username: string;
  readonly email: string;
  readonly name?: string;
  readonly userId: string;
}

async function listed(tenant: string): Promise<readonly Listed[]> {
  const { out } = await done(`user list --tenant ${tenant} --search p0 -o json`);
  return JSON.parse(out) as readonly Listed[];
}

it(
  'an import of 20,000 people that is killed at a third and at two thirds ends as one that is not',
  async () => {
    const [file, second] = [join(directory, 'people.json'), join(directory, 'renamed.json')];
    await writeFile(file, JSON.stringify(people()));
    await writeFile(second, JSON.stringify(people('Moved')));
    const importing = (tenant: string, from = file) =>
      `import people ${from} --tenant ${tenant} --owner moved`;

    for (const share of [1 / 3, 2 / 3]) {
      const killed = tessera(importing('acme'));
      const reached = nameOf(Math.floor(count * share));
      await eventually(
        `${reached} is there`,
        async () => {
          const { printed, ended } = tessera(`user list --tenant acme --search ${reached} -o json`);
          return (await ended) === 0 && printed.out.includes(reached);
        },
        longestMs,
        500,
      );
      killed.kill();
      expect(await killed.ended).toBeNull();
      expect((await listed('acme')).length).toBeLessThan(count);
    }
    const before = await listed('acme');
    expect((await done(importing('acme'))).said).toContain(
      `acme: ${count - before.length} created, 0 updated, 0 deleted`,
    );
    expect((await done(importing('acme'))).said).toContain('acme: 0 created, 0 updated, 0 deleted');
    const after = await listed('acme');
    const known = new Map(after.map(({ username, userId }) => [username, userId]));
    expect(before.filter(({ username, userId }) => known.get(username) !== userId)).toEqual([]);

    expect((await done(importing('globex'))).said).toContain(`globex: ${count} created, 0 updated`);
    const content = (all: readonly Listed[]) =>
      all.map(({ username, email, name }) => [username, email, name]);
    expect(content(after)).toEqual(content(await listed('globex')));
    expect((await done(importing('acme', second))).said).toContain(
      `acme: 0 created, ${count} updated, 0 deleted`,
    );
  },
  longestMs,
);
