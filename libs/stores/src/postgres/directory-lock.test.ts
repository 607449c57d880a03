import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const module = new URL('directory-lock.ts', import.meta.url).href;

/** Locks the directory at the given time, then keeps it until its input ends. */
const contender = (directory: string, at: number): string => `
  import { lockDirectory } from ${JSON.stringify(module)};
  while (Date.now() < ${at}) await new Promise((resolve) => setTimeout(resolve, 1));
  const outcome = await lockDirectory(${JSON.stringify(directory)}).then(() => 'locked', () => 'refused');
  console.log(outcome);
  process.stdin.resume();`;

/** What each of several processes says that lock the same directory at the same time. */
async function race(directory: string, processes: number): Promise<string[]> {
  const at = Date.now() + 1500;
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, ['--input-type=module', '--eval', contender(directory, at)]),
  );
  const outcomes = children.map(
    (child) =>
      new Promise<string>((resolve) =>
        child.stdout.once('data', (text: Buffer) => resolve(text.toString().trim())),
      ),
  );
  const said = await Promise.all(outcomes);
  const ended = children.map((child) => new Promise((resolve) => child.once('close', resolve)));
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(ended);
  return said;
}

describe('the lock of a directory', () => {
  it('goes to one of several processes that find a stale lock', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'tessera-lock-'));
    onTestFinished(() => rm(parent, { recursive: true }));
    const directory = join(parent, 'database');
    await writeFile(`${directory}.lock`, '999999999');
    for (let round = 0; round < 3; round += 1) {
      const said = await race(directory, 8);
      expect(said.filter((outcome) => outcome === 'locked')).toHaveLength(1);
      expect(await readdir(parent)).toEqual(['database.lock']);
    }
  });
});
