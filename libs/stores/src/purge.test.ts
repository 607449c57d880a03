import { describe, expect, it } from 'vitest';
import { temporarilyUnavailable } from '@tessera/oauth';
import { createLogger } from '@tessera/telemetry';
import { startPurge } from './purge.ts';

describe('the purge', () => {
  it('goes on in batches until one is not full, survives trouble, and ends when it is closed', async () => {
    const written: string[] = [];
    const log = createLogger(
      { service: 'test', level: 'info' },
      { write: (line: string) => void written.push(line) },
    );
    const answers = [500, 500, 3];
    let calls = 0;
    const store = {
      async purge() {
        calls += 1;
        if (calls === 4) throw temporarilyUnavailable('unavailable');
        return answers[calls - 1] ?? 0;
      },
    };
    const purge = startPurge(store, { what: 'sessions', intervalMs: 20, log });
    await expect.poll(() => calls).toBeGreaterThan(5);
    await purge.close();
    const after = calls;
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(calls).toBe(after);
    expect(written.join('')).toContain('cannot purge sessions');
  });

  it('does not pause before the last batch, however many there are', async () => {
    const log = createLogger({ service: 'test', level: 'silent' });
    const intervalMs = 1500;
    const calledAt: number[] = [];
    const store = {
      async purge(limit: number) {
        calledAt.push(performance.now());
        return calledAt.length < 50 ? limit : 0;
      },
    };
    const purge = startPurge(store, { what: 'sessions', intervalMs, log });
    await expect.poll(() => calledAt.length).toBeGreaterThanOrEqual(50);
    await purge.close();
    expect((calledAt[49] ?? 0) - (calledAt[0] ?? 0)).toBeLessThan(10 * intervalMs);
  });
});
