import { describe, expect, it, vi } from 'vitest';
import { WorkQueue, type Worked } from './work-queue.ts';

/** Work that ends when a test says how. */
function heldWork() {
  const ends = new Map<string, ((worked: Worked) => void)[]>();
  const started: string[] = [];
  const work = async (key: string) => {
    started.push(key);
    return new Promise<Worked>((resolve) => ends.set(key, [...(ends.get(key) ?? []), resolve]));
  };
  return {
    started,
    work,
    end: (key: string, worked: Worked = 'done') => ends.get(key)?.shift()?.(worked),
  };
}
const delays = { firstDelayMs: 1, longestDelayMs: 4 };

describe('a queue of work', () => {
  it('does some things at once, and the same thing one time after the other', async () => {
    const { work, started, end } = heldWork();
    const queue = new WorkQueue({ ...delays, concurrency: 2, work });
    for (const key of ['a', 'b', 'c', 'a', 'a']) queue.add(key);
    expect(started).toEqual(['a', 'b']);
    end('b');
    await vi.waitFor(() => expect(started).toEqual(['a', 'b', 'c']));
    end('a');
    await vi.waitFor(() => expect(started).toEqual(['a', 'b', 'c', 'a']));
    end('a');
    end('c');
    await vi.waitFor(() => expect(queue.size).toBe(0));
    expect(started).toEqual(['a', 'b', 'c', 'a']);
  });

  it('does what failed again, until it has succeeded', async () => {
    const answers: Worked[] = ['failed', 'failed', 'done'];
    const work = vi.fn<() => Promise<Worked>>(async () => answers.shift() ?? 'done');
    const queue = new WorkQueue({ ...delays, concurrency: 1, work });
    queue.add('a');
    await vi.waitFor(() => expect(work).toHaveBeenCalledTimes(3));
    await queue.stop();
    expect(answers).toEqual([]);
  });

  it('counts work that throws as failed', async () => {
    const work = vi
      .fn<() => Promise<Worked>>()
      .mockRejectedValueOnce(new Error('lost'))
      .mockResolvedValue('done');
    const queue = new WorkQueue({ ...delays, concurrency: 1, work });
    queue.add('a');
    await vi.waitFor(() => expect(work).toHaveBeenCalledTimes(2));
    await queue.stop();
  });

  it('does at once what waits after a failure, and nothing else, when it is told to', async () => {
    const work = vi.fn<(key: string) => Promise<Worked>>(async (key) => (key === 'bad' ? 'failed' : 'done'));
    const queue = new WorkQueue({ firstDelayMs: 60_000, longestDelayMs: 60_000, concurrency: 1, work });
    queue.add('bad');
    queue.add('good');
    await vi.waitFor(() => expect(queue.size).toBe(0));
    queue.retry();
    await vi.waitFor(() => expect(work).toHaveBeenCalledTimes(3));
    expect(work.mock.calls.flat()).toEqual(['bad', 'good', 'bad']);
    await queue.stop();
  });

  it('ends what is under way when it stops, and starts nothing more', async () => {
    const { work, started, end } = heldWork();
    const queue = new WorkQueue({ ...delays, concurrency: 1, work });
    queue.add('a');
    queue.add('b');
    const stopped = queue.stop();
    queue.add('c');
    end('a', 'failed');
    await stopped;
    expect(started).toEqual(['a']);
  });
});
