import { temporarilyUnavailable } from '@tessera/oauth';
import { describe, expect, it, onTestFinished } from 'vitest';
import { postgresUrl } from '@tessera/test-kit';
import { createLogger } from '@tessera/telemetry';
import { openDatabase } from './postgres/postgres.ts';
import { remedyFor } from './store-errors.ts';
import { whenAvailable } from './when-available.ts';

function options(signal = new AbortController().signal) {
  const written: string[] = [];
  const log = createLogger(
    { service: 'test', level: 'info' },
    { write: (line: string) => void written.push(line) },
  );
  return { log, signal, what: 'the start', text: () => written.join('') };
}

function withPart(part: 'pathname' | 'password' | 'username', value: string): string {
  const url = new URL(postgresUrl());
  url[part] = value;
  return url.href;
}

/** Asks again where a busy machine has no time to connect, of which nobody is told what to change. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (remedyFor(error instanceof Error ? error.cause : undefined) !== undefined) throw error;
    }
  }
}

describe('whenAvailable', () => {
  it('repeats work while a store is unavailable, and logs it once', async () => {
    const given = options();
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      if (attempts < 4) throw temporarilyUnavailable();
      return attempts;
    };
    expect(await whenAvailable(work, given)).toBe(4);
    expect(given.text().match(/the start is waiting: store unavailable/g)).toHaveLength(1);
  });

  it.each([
    ['does not exist', () => withPart('pathname', '/nothing_of_that_name'), /does not exist\. Create it/],
    ['refuses the password', () => withPart('password', 'wrong'), /refuses the password of DATABASE_URL/],
    ['does not know the role', () => withPart('username', 'nobody'), /refuses the password of DATABASE_URL/],
  ])(
    'says what to change, again and again but not each time, while a database %s',
    async (_what, url, said) => {
      const database = await openDatabase({ url: url() });
      onTestFinished(() => database.close());
      const given = options();
      let attempts = 0;
      const work = async () => {
        attempts += 1;
        if (attempts < 6) await answered(() => database.query({ name: 'test.one', text: 'SELECT 1' }));
        return attempts;
      };
      const now = () => attempts * 100;
      expect(await whenAvailable(work, { ...given, remindAfterMs: 250, now })).toBe(6);
      const lines = given.text().trim().split('\n');
      expect(lines).toHaveLength(2);
      for (const line of lines) {
        expect(line).toMatch(/"level":"error".*the start is waiting; needs operator action/);
        expect(line).toMatch(said);
        expect(line).not.toContain(new URL(url()).password);
      }
    },
  );

  it('logs a new reason for waiting at once', async () => {
    const missing = Object.assign(new Error('no database'), { severity: 'FATAL', code: '3D000' });
    const given = options();
    const reasons = [undefined, undefined, missing, missing, undefined];
    const work = async () => {
      if (reasons.length > 0) throw temporarilyUnavailable(reasons.shift());
      return 'done';
    };
    await whenAvailable(work, given);
    const levels = [...given.text().matchAll(/"level":"(\w+)"/g)].map(([, level]) => level);
    expect(levels).toEqual(['warn', 'error', 'warn']);
  });

  it('does not repeat work that fails for another reason', async () => {
    const failure = new Error('changed checksum');
    await expect(whenAvailable(() => Promise.reject(failure), options())).rejects.toBe(failure);
  });

  it('ends when the process is asked to stop', async () => {
    const stopping = new AbortController();
    const waiting = whenAvailable(() => Promise.reject(temporarilyUnavailable()), options(stopping.signal));
    setTimeout(() => stopping.abort(), 20);
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
