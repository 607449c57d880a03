import { describe, expect, it } from 'vitest';
import { costOf } from './cost.ts';
import { decodePasswordHash } from './phc.ts';
import { HashQueue } from './hash-queue.ts';

/** A sign-in of one person from their own address. */
const source = { address: '192.0.2.1', network: '192.0.2', account: 'ada', tenant: 'acme' };

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
    const second = hashQueue.run(work('b'), source, { signal: leaving.signal });
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
    const background = hashQueue.runInBackground(work('background'), 'acme');
    const person = hashQueue.run(work('person'), source);
    await expect(failing).rejects.toThrow('broken');
    await finishOne();
    await finishOne();
    expect(started).toEqual(['person', 'background']);
    await Promise.all([background, person]);
  });

  it('hashes passwords that administrators set for one tenant after the other, however many wait for one', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 10, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const refused: unknown[] = [];
    const many = Array.from({ length: 1_001 }, async (_, at) =>
      hashQueue.runInBackground(work(`acme ${at}`), 'acme').catch((error: unknown) => refused.push(error)),
    );
    const other = hashQueue.runInBackground(work('beta'), 'beta');
    await finishOne();
    await finishOne();
    await finishOne();
    expect(started.slice(0, 4)).toEqual(['acme 0', 'acme 1', 'beta', 'acme 2']);
    expect(await other).toBe('beta');
    expect(refused).toMatchObject([{ code: 'temporarily_unavailable' }]);
    while (started.length < 1_001) await finishOne();
    await finishOne();
    await Promise.all(many);
  });

  it('serves addresses in turn, however many calls from one wait', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 10, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const from = (address: string, name: string) =>
      hashQueue.run(work(name), { address, network: '192.0.2', account: name, tenant: 'acme' });
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
      hashQueue.run(work(name), { address, network: '192.0.2', account: name, tenant: 'acme' });
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
          .run(work(address), { address, network, account: address, tenant: 'acme' })
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
      outcomes.push(
        hashQueue.run(work(name), { address, network, account: name, tenant: 'acme' }).catch(() => undefined),
      );
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
      hashQueue.run(work(address), { address, network: '192.0.2', account, tenant: 'acme' });
    const all = [from('192.0.2.1'), from('192.0.2.2')];
    await expect(from('192.0.2.3')).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    all.push(from('192.0.2.4', 'bob'));
    for (let rest = all.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(all);
    const again = from('192.0.2.3');
    await finishOne();
    await again;
  });

  it('lets go of a caller that leaves at once, whose place is free', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 1, perAccount: 5 });
    const { work, finishOne } = workshop();
    const leaving = new AbortController();
    const first = hashQueue.run(work('a'), source);
    const second = hashQueue.run(work('b'), source, { signal: leaving.signal });
    leaving.abort();
    await expect(second).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    const third = hashQueue.run(work('c'), source);
    await finishOne();
    await finishOne();
    expect(await Promise.all([first, third])).toEqual(['a', 'c']);
  });
});

/** What is dear, by what it takes: half of the memory of the lane. */
const dear = { memory: 65_536, isDear: true };

describe('hashes dearer than ours', () => {
  const of = (tenant: string, name: string) => ({
    address: name,
    network: name,
    account: name,
    tenant,
  });

  it('have one place for each tenant, so that those of others do not wait', async () => {
    const hashQueue = new HashQueue({ concurrency: 4, queue: 100, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const all = ['a1', 'a2', 'a3'].map((name) => hashQueue.run(work(name), of('acme', name), { cost: dear }));
    all.push(hashQueue.run(work('g1'), of('globex', 'g1'), { cost: dear }));
    all.push(hashQueue.run(work('ours'), of('initech', 'ours')));
    expect(started).toEqual(['a1', 'g1', 'ours']);
    for (let rest = all.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(all);
    expect(started).toEqual(['a1', 'g1', 'ours', 'a2', 'a3']);
  });

  it('take half of the places at most, however many tenants have them', async () => {
    const hashQueue = new HashQueue({ concurrency: 2, queue: 100, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const all = ['a', 'b', 'c'].map((name) => hashQueue.run(work(name), of(name, name), { cost: dear }));
    all.push(hashQueue.run(work('ours'), of('initech', 'ours')));
    expect(started).toEqual(['a', 'ours']);
    for (let rest = all.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(all);
    expect(started).toEqual(['a', 'ours', 'b', 'c']);
  });

  it('take turns with ours where there is one place', async () => {
    const hashQueue = new HashQueue({ concurrency: 1, queue: 100, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const all = ['a1', 'a2', 'a3'].map((name) => hashQueue.run(work(name), of('acme', name), { cost: dear }));
    all.push(...['b1', 'b2'].map((name) => hashQueue.run(work(name), of('globex', name))));
    for (let rest = all.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(all);
    expect(started).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('share a budget of memory, in which the one that needs most has its turn', async () => {
    const hashQueue = new HashQueue({ concurrency: 8, queue: 100, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const most = { memory: 131_072, isDear: true };
    const all = [
      hashQueue.run(work('a'), of('a', 'a'), { cost: dear }),
      hashQueue.run(work('b'), of('b', 'b'), { cost: dear }),
      hashQueue.run(work('most'), of('c', 'c'), { cost: most }),
      hashQueue.run(work('d'), of('d', 'd'), { cost: dear }),
    ];
    expect(started).toEqual(['a', 'b']);
    await finishOne();
    all.push(hashQueue.run(work('e'), of('e', 'e'), { cost: dear }));
    expect(started).toEqual(['a', 'b']);
    await finishOne();
    expect(started).toEqual(['a', 'b', 'most']);
    await finishOne();
    expect(started).toEqual(['a', 'b', 'most', 'd', 'e']);
    await finishOne();
    await finishOne();
    await Promise.all(all);
  });

  it('that wait for one tenant are few; the rest is asked to try again', async () => {
    const hashQueue = new HashQueue({ concurrency: 2, queue: 100, perAccount: 5 });
    const { work, started, finishOne } = workshop();
    const outcomes = Array.from({ length: 20 }, (_, n) =>
      hashQueue
        .run(
          work(`a${n}`),
          { ...of('acme', `a${n}`), address: '192.0.2.1', network: '192.0.2' },
          { cost: dear },
        )
        .then(
          () => 'compared',
          (error: { code: string; retryAfterSeconds: number }) => `${error.code} ${error.retryAfterSeconds}`,
        ),
    );
    for (let rest = outcomes.length; rest > 0; rest -= 1) await finishOne();
    const counted = await Promise.all(outcomes);
    expect(counted.filter((outcome) => outcome === 'compared')).toHaveLength(9);
    expect(counted.filter((outcome) => outcome === 'temporarily_unavailable 1')).toHaveLength(11);
    expect(started).toHaveLength(9);
  });

  it('refuse a caller later, one after the other, so that callers who ask again at once take no place of others', async () => {
    const hashQueue = new HashQueue({
      concurrency: 2,
      queue: 100,
      perAccount: 5,
      refusals: { afterMs: 50, apartMs: 20 },
    });
    const { work, started, finishOne } = workshop();
    const ask = (name: string, signal?: AbortSignal) =>
      hashQueue.run(work(name), of('acme', name), { cost: dear, signal });
    const compared = Array.from({ length: 9 }, (_, n) => ask(`a${n}`));
    const began = performance.now();
    const told: number[] = [];
    const refused = Array.from({ length: 5 }, (_, n) =>
      ask(`b${n}`).catch((error: unknown) => {
        told.push(performance.now() - began);
        throw error;
      }),
    );
    const leaving = new AbortController();
    const left = ask('left', leaving.signal);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(told).toEqual([]);
    await Promise.all(
      refused.map((each) => expect(each).rejects.toMatchObject({ code: 'temporarily_unavailable' })),
    );
    // A timer may come a millisecond early.
    told.forEach((ms, n) => expect(ms).toBeGreaterThan(50 + 20 * n - 2));
    const failing = hashQueue.run(() => Promise.reject(new Error('broken')), of('globex', 'g'));
    await expect(failing).rejects.toThrow('broken');
    for (let rest = compared.length; rest > 0; rest -= 1) await finishOne();
    await Promise.all(compared);
    expect(started).toHaveLength(9);
  });

  it('refuse at once what is too much to be told later', async () => {
    const refusals = { afterMs: 60_000, apartMs: 1 };
    const hashQueue = new HashQueue({ concurrency: 2, queue: 100, perAccount: 5, refusals });
    const { work, finishOne } = workshop();
    const leaving = new AbortController();
    const ask = (name: string) =>
      hashQueue.run(work(name), of('acme', name), { cost: dear, signal: leaving.signal });
    const compared = Promise.allSettled(Array.from({ length: 9 }, (_, n) => ask(`a${n}`)));
    let refused = 0;
    const held = Array.from({ length: 128 }, (_, n) => ask(`b${n}`).catch(() => void (refused += 1)));
    await expect(ask('c')).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(refused).toBe(0);
    await finishOne();
    leaving.abort();
    await Promise.all(held);
    await finishOne();
    await compared;
    expect(refused).toBe(128);
  });

  it.each([
    ['$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4', 19_456, false],
    ['$argon2id$v=19$m=65536,t=4,p=4$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4', 65_536, true],
    // As long as one of ours, with more memory.
    ['$argon2id$v=19$m=38912,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4', 38_912, true],
    ['$argon2id$v=19$m=19456,t=3,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4', 19_456, true],
    ['$pbkdf2-sha256$i=6400$k/Ie45wTQug9pzRmLEWIUQ$QzseQm8a5Aehjo1FqzwfzeC61d.9BSvOj7Gq4ZLSghE', 0, false],
    ['$pbkdf2-sha256$i=600000$k/Ie45wTQug9pzRmLEWIUQ$QzseQm8a5Aehjo1FqzwfzeC61d.9BSvOj7Gq4ZLSghE', 0, true],
    [
      '$scrypt$ln=14,r=8,p=1$EGIsRYixFiIkhHDu/b+X0g$otiU8TLY66LaR7IkCAyhBucNNF9UpLRWWXVNeH/BZMg',
      16_384,
      false,
    ],
    [
      '$scrypt$ln=17,r=8,p=1$EGIsRYixFiIkhHDu/b+X0g$otiU8TLY66LaR7IkCAyhBucNNF9UpLRWWXVNeH/BZMg',
      131_072,
      true,
    ],
    ['$2b$12$.RJJ/wIRZRZBMkucu0aRhOPh7UUbVqzjNn1gCQbrnVW13z9Zou2.O', 32_768, true],
  ])('are told by their parameters: %s', (text, memory, isDear) => {
    const hash = decodePasswordHash(text);
    expect(hash && costOf(hash)).toEqual({ memory, isDear });
  });
});
