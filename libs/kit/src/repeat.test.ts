import { afterEach, describe, expect, it } from 'vitest';
import { backOff, repeat, type RepeatOptions, type Repetition } from './repeat.ts';

const open: Repetition[] = [];
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

afterEach(async () => {
  for (const repetition of open.splice(0)) await repetition.close();
});

function start(
  work: (signal: AbortSignal) => Promise<unknown>,
  options: Partial<RepeatOptions> = {},
): Repetition {
  const repetition = repeat(work, { pauseMs: 5, onError: () => undefined, ...options });
  open.push(repetition);
  return repetition;
}

describe('repeat', () => {
  it('runs at once and again, and not after it is closed', async () => {
    let runs = 0;
    const repetition = start(async () => (runs += 1));
    expect(runs).toBe(1);
    await expect.poll(() => runs).toBeGreaterThan(3);
    await repetition.close();
    const before = runs;
    await wait(30);
    expect(runs).toBe(before);
  });

  it('pauses first if it shall', async () => {
    let runs = 0;
    start(async () => (runs += 1), { startsWithPause: true });
    expect(runs).toBe(0);
    await expect.poll(() => runs).toBeGreaterThan(0);
  });

  it('never runs if it is closed in its first pause', async () => {
    let runs = 0;
    const repetition = start(async () => (runs += 1), { startsWithPause: true, pauseMs: 60_000 });
    await repetition.close();
    expect(runs).toBe(0);
  });

  it('waits for the run under way when it is closed, aborts its signal, and reports no error of it', async () => {
    const errors: unknown[] = [];
    let ended = false;
    const repetition = start(
      async (signal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await wait(20);
        ended = true;
        signal.throwIfAborted();
      },
      { onError: (error) => errors.push(error) },
    );
    await repetition.close();
    expect(ended).toBe(true);
    expect(errors).toEqual([]);
  });

  it('counts failures in a row, hands them to the pause, and reports the recovery once', async () => {
    const outcomes = ['a', 'b', undefined, undefined, 'c'];
    const seen: unknown[] = [];
    start(
      async () => {
        const failure = outcomes.shift();
        if (failure !== undefined) throw new Error(failure);
        if (outcomes.length === 0) await new Promise(() => undefined);
      },
      {
        pauseMs: (failures) => (seen.push(failures), 1),
        onError: (error, failures) => seen.push(`${String(error)} ${failures}`),
        onRecovery: () => seen.push('recovered'),
      },
    );
    await expect.poll(() => seen).toContain('Error: c 1');
    expect(seen.slice(0, 7)).toEqual(['Error: a 1', 1, 'Error: b 2', 2, 'recovered', 0, 0]);
    open.pop();
  });

  it('runs soon when it is woken in a pause', async () => {
    let runs = 0;
    const repetition = start(async () => (runs += 1), { pauseMs: 60_000 });
    repetition.soon();
    await expect.poll(() => runs).toBe(2);
  });

  it('runs once more, and only once, when it is woken during a run', async () => {
    let runs = 0;
    let concurrent = 0;
    const work = async () => {
      runs += 1;
      concurrent += 1;
      expect(concurrent).toBe(1);
      await wait(10);
      concurrent -= 1;
    };
    const repetition = start(work, { pauseMs: 60_000 });
    for (let time = 0; time < 3; time += 1) repetition.soon();
    await wait(60);
    expect(runs).toBe(2);
  });
});

describe('backOff', () => {
  it('doubles up to its bound, at least half of it certain', () => {
    for (const [failures, longest] of [
      [1, 100],
      [2, 200],
      [4, 800],
      [9, 2_000],
      [5_000, 2_000],
    ] as const) {
      const pauses = Array.from({ length: 50 }, () => backOff(100, 2_000, failures));
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(longest / 2);
      expect(Math.max(...pauses)).toBeLessThanOrEqual(longest);
      expect(new Set(pauses).size).toBeGreaterThan(1);
    }
  });
});
