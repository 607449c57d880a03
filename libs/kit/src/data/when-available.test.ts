import { temporarilyUnavailable } from '@tessera/oauth';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../log.ts';
import { whenAvailable } from './when-available.ts';

function options(signal = new AbortController().signal) {
  const written: string[] = [];
  const log = createLogger(
    { service: 'test', level: 'info' },
    { write: (line: string) => void written.push(line) },
  );
  return { log, signal, what: 'the start', text: () => written.join('') };
}

describe('whenAvailable', () => {
  it('repeats work while a store is away, and says so once', async () => {
    const given = options();
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      if (attempts < 4) throw temporarilyUnavailable();
      return attempts;
    };
    expect(await whenAvailable(work, given)).toBe(4);
    expect(given.text().match(/the start waits for a store/g)).toHaveLength(1);
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
