import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { sizeThreadPool } from './thread-pool.ts';

describe('the thread pool', () => {
  it('has a thread more than there are cores, unless its size is set', () => {
    const sized = (cores: number, environment: Record<string, string | undefined> = {}) => {
      sizeThreadPool(environment, cores);
      return environment['UV_THREADPOOL_SIZE'];
    };
    expect([sized(1), sized(2), sized(16)]).toEqual(['2', '3', '17']);
    expect(sized(16, { UV_THREADPOOL_SIZE: '5' })).toBe('5');
  });

  it('is sized in time when a process does it first', async () => {
    // Threads have names that can be read on Linux alone.
    if (process.platform !== 'linux') return;
    const source = `import { readdirSync, readFileSync } from 'node:fs';
      import { pbkdf2 } from 'node:crypto';
      import { runProcess } from ${JSON.stringify(new URL('index.ts', import.meta.url).href)};
      import { sizeThreadPool } from ${JSON.stringify(new URL('thread-pool.ts', import.meta.url).href)};
      sizeThreadPool(process.env, typeof runProcess === 'function' ? 7 : 0);
      pbkdf2('a', 'b', 1, 32, 'sha256', () => {
        const names = readdirSync('/proc/self/task').map((id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8'));
        console.log(names.filter((name) => name.startsWith('libuv')).length);
      });`;
    const { UV_THREADPOOL_SIZE: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module-typescript', '--eval', source],
      { env },
    );
    expect(Number(stdout)).toBe(8);
  });
});
