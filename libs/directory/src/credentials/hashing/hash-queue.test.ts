import { describe, expect, it } from 'vitest';
import { HashQueue } from './hash-queue.ts';

/** A sign-in of one person from their own address. */
const source = { address: '192.0.2.1', network: '192.0.2', account: 'ada' };

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

describe('the queue for password hashes', () => {
  it('runs at most the allowed number at once, and the others in order', async () => {
    const hashQueue = new HashQueue({ concurrency: 2, queue: 10, perAccount: 5 });
    const { work, running, started, finishOne } = workshop();
    const all = ['a', 'b', 'c', 'd'].map((name) => hashQueue.run(work(name), source));
    expect(started).toEqual(['a', 'b']);
    await finishOne();
    expect(started).toEqual(['a', 'b', 'c']);
    expect(running).toHaveLength(2);
    await finishOne();
    await finishOne();
    await finishOne();
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('asks callers to retry if the queue is full', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 1, perAccount: 5 });
    const { work, finishOne } = workshop();
    const all = [hashQueue.run(work('a'), source), hashQueue.run(work('b'), source)];
    await expect(hashQueue.run(work('c'), source)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      retryAfterSeconds: 1,
    });
    await finishOne();
    await finishOne();
    await Promise.all(all);
  });

  it('does not hash for a caller that gave up', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 2, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const leaving = new AbortController();
    const first = hashQueue.run(work('a'), source);
    const second = hashQueue.run(work('b'), source, leaving.signal);
    const third = hashQueue.run(work('c'), source);
    leaving.abort();
    const gone = expect(second).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await finishOne();
    await gone;
    expect(started).toEqual(['a', 'c']);
    await finishOne();
    await Promise.all([first, third]);
  });

  it('runs sign-ins before background work, and continues after a failure', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 2, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const failing = hashQueue.run(() => Promise.reject(new Error('broken')), source);
    const background = hashQueue.runInBackground(work('background'));
    const person = hashQueue.run(work('person'), source);
    await expect(failing).rejects.toThrow('broken');
    await finishOne();
    await finishOne();
    expect(started).toEqual(['person', 'background']);
    await Promise.all([background, person]);
  });

  it('serves addresses in turn, however many calls from one wait', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 10, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const from = (address: string, name: string) =>
      hashQueue.run(work(name), { address, network: '192.0.2', account: name });
    const all = [
      ...['a1', 'a2', 'a3', 'a4'].map((name) => from('192.0.2.1', name)),
      from('192.0.2.2', 'b1'),
      from('192.0.2.3', 'c1'),
      from('192.0.2.2', 'b2'),
    ];
    for (let rest = all.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(all);
    expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });

  it('frees a place of the address with the most waiting calls for one with fewer', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 3, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const from = (address: string, name: string) =>
      hashQueue.run(work(name), { address, network: '192.0.2', account: name });
    const kept = ['a1', 'a2', 'a3'].map((name) => from('192.0.2.1', name));
    const displaced = from('192.0.2.1', 'a4');
    const unavailable = { code: 'temporarily_unavailable', retryAfterSeconds: 1 };
    await expect(from('192.0.2.1', 'a5')).rejects.toMatchObject(unavailable);
    kept.push(from('192.0.2.2', 'b1'));
    await expect(displaced).rejects.toMatchObject(unavailable);
    await expect(from('192.0.2.2', 'b2')).rejects.toMatchObject(unavailable);
    for (let rest = kept.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(kept);
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('keeps a network that fills the queue with many addresses from displacing the sign-ins of others', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 60, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const settled: Promise<unknown>[] = [];
    const refused: string[] = [];
    const from = (address: string, network: string) =>
      settled.push(
        hashQueue
          .run(work(address), { address, network, account: address })
          .catch(() => void refused.push(address)),
      );
    for (let subnet = 0; subnet <= 60; subnet += 1) from(`2001:db8:1:${subnet}`, '2001:db8:1');
    for (const host of [1, 2, 3]) from(`198.51.100.${host}`, '198.51.100');
    for (let subnet = 100; subnet < 160; subnet += 1) from(`2001:db8:1:${subnet}`, '2001:db8:1');
    from('2001:db8:1:200', '2001:db8:1');
    from('203.0.113.1', '203.0.113');
    for (let rest = 0; rest <= 60; rest += 1) await finishOne();
    await Promise.all(settled);
    const others = ['198.51.100.1', '198.51.100.2', '198.51.100.3', '203.0.113.1'];
    expect(refused.filter((address) => others.includes(address))).toEqual([]);
    expect(started).toEqual(expect.arrayContaining(others));
    expect(started).toHaveLength(61);
  });

  it('lets an address with fewer sign-ins displace one of its own network only, if no network has more', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 4, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const outcomes: Promise<unknown>[] = [];
    const from = (address: string, network: string, name: string) =>
      outcomes.push(hashQueue.run(work(name), { address, network, account: name }).catch(() => undefined));
    from('192.0.2.1', '192.0.2', 'running');
    for (const name of ['a1', 'a2']) from('192.0.2.1', '192.0.2', name);
    for (const name of ['b1', 'b2']) from('198.51.100.1', '198.51.100', name);
    from('192.0.2.2', '192.0.2', 'a3');
    for (let rest = 0; rest <= 4; rest += 1) await finishOne();
    await Promise.all(outcomes);
    expect(started).toEqual(['running', 'a1', 'b1', 'a3', 'b2']);
  });

  it('limits the hashes in flight per account, from any number of addresses', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 10, perAccount: 2 });
    const { work, finishOne } = workshop();
    const from = (address: string, account = 'ada') =>
      hashQueue.run(work(address), { address, network: '192.0.2', account });
    const all = [from('192.0.2.1'), from('192.0.2.2')];
    await expect(from('192.0.2.3')).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    all.push(from('192.0.2.4', 'bob'));
    for (let rest = all.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(all);
    const again = from('192.0.2.3');
    await finishOne();
    await again;
  });
});
