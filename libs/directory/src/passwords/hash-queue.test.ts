import { describe, expect, it } from 'vitest';
import { HashQueue } from './hash-queue.ts';

/** Work that is finished by hand, and a count of how much of it runs. */
function workshop() {
  const running: { name: string; finish: () => void }[] = [];
  const started: string[] = [];
  const work = (name: string) => async () => {
    started.push(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    running.push({ name, finish: resolve });
    await promise;
    return name;
  };
  const finishOne = async () => {
    running.shift()?.finish();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { work, running, started, finishOne };
}

describe('the hashQueue before slow hashes', () => {
  it('runs no more at once than it may, and the others in turn', async () => {
    const hashQueue = new HashQueue({ concurrency: 2, queue: 10 });
    const { work, running, started, finishOne } = workshop();
    const all = ['a', 'b', 'c', 'd'].map((name) => hashQueue.run(work(name)));
    expect(started).toEqual(['a', 'b']);
    await finishOne();
    expect(started).toEqual(['a', 'b', 'c']);
    expect(running).toHaveLength(2);
    await finishOne();
    await finishOne();
    await finishOne();
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('tells those to come back for whom there is no place in the queue', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 1 });
    const { work, finishOne } = workshop();
    const all = [hashQueue.run(work('a')), hashQueue.run(work('b'))];
    await expect(hashQueue.run(work('c'))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      retryAfterSeconds: 1,
    });
    await finishOne();
    await finishOne();
    await Promise.all(all);
  });

  it('does not hash for a caller that has gone', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 2 });
    const { work, started, finishOne } = workshop();
    const leaving = new AbortController();
    const first = hashQueue.run(work('a'));
    const second = hashQueue.run(work('b'), leaving.signal);
    const third = hashQueue.run(work('c'));
    leaving.abort();
    const gone = expect(second).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await finishOne();
    await gone;
    expect(started).toEqual(['a', 'c']);
    await finishOne();
    await Promise.all([first, third]);
  });

  it('lets people go before work in the background, and goes on after a failure', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 2 });
    const { work, started, finishOne } = workshop();
    const failing = hashQueue.run(() => Promise.reject(new Error('broken')));
    const background = hashQueue.runInBackground(work('background'));
    const person = hashQueue.run(work('person'));
    await expect(failing).rejects.toThrow('broken');
    await finishOne();
    await finishOne();
    expect(started).toEqual(['person', 'background']);
    await Promise.all([background, person]);
  });
});
