import { systemRandom } from '@tessera/kit';
import { describe, expect, it } from 'vitest';
import { HashQueue } from './hash-queue.ts';
import { Passwords } from './passwords.ts';

const hashQueue = new HashQueue({ concurrency: 2, queue: 100, perAccount: 100 });
const source = { address: '192.0.2.1', network: '192.0.2', account: 'ada' };
const passwords = new Passwords({ hashQueue, random: systemRandom });

describe('passwords', () => {
  it('verify only against their own hash', async () => {
    const stored = await passwords.hashUnlessKnown('correct horse', undefined);
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await passwords.verify('correct horse', stored, { source })).toBe(true);
    expect(await passwords.verify('Correct horse', stored, { source })).toBe(false);
    expect(await passwords.verify('', stored, { source })).toBe(false);
  });

  it('verify against a hash made by the reference implementation', async () => {
    const stored = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4';
    expect(await passwords.verify('password', stored, { source })).toBe(true);
    expect(await passwords.verify('Password', stored, { source })).toBe(false);
  });

  it('never verify without a stored hash or against an unreadable one', async () => {
    expect(await passwords.verify('anything', undefined, { source })).toBe(false);
    expect(await passwords.verify('anything', 'anything', { source })).toBe(false);
  });

  it('are equal in any Unicode composition (RFC 8265 §4.2)', async () => {
    const stored = await passwords.hashUnlessKnown('caf\u00e9', undefined);
    expect(await passwords.verify('cafe\u0301', stored, { source })).toBe(true);
  });

  it('may have 1024 characters; longer ones are refused before hashing', async () => {
    const idle = new HashQueue({ concurrency: 1, queue: 0, perAccount: 100 });
    const long = 'x'.repeat(1024);
    const own = new Passwords({ hashQueue: idle, random: systemRandom });
    const stored = await own.hashUnlessKnown(long, undefined);
    expect(await own.verify(long, stored, { source })).toBe(true);
    const blocked = Promise.withResolvers<void>();
    void idle.run(() => blocked.promise, source);
    await expect(own.verify('x'.repeat(1_000_000), stored, { source })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    blocked.resolve();
  });

  it('keep their hash if declared again unchanged', async () => {
    const stored = await passwords.hashUnlessKnown('one', undefined);
    expect(await passwords.hashUnlessKnown('one', stored)).toBe(stored);
    expect(await passwords.hashUnlessKnown('two', stored)).not.toBe(stored);
  });

  it('of unknown people take as long as a hash of the tenant, even with several hash costs (ENUM-1)', async () => {
    const costly = '$argon2id$v=19$m=131072,t=6,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4';
    const time = async (stored: string | undefined, standIn?: string) => {
      const started = performance.now();
      expect(await passwords.verify('wrong', stored, { source, standIn })).toBe(false);
      return performance.now() - started;
    };
    const cheap = await time(undefined);
    const [known, unknown] = [await time(costly), await time(undefined, costly)];
    // Twenty times the work; half of that tells them apart on any machine.
    expect(Math.min(known, unknown)).toBeGreaterThan(5 * cheap);
    expect(passwords.isCurrent(costly)).toBe(false);
    expect(passwords.isCurrent(await passwords.renewed('x'))).toBe(true);
  });

  it('of unknown people cost one hash, as wrong ones do, so timing reveals nothing', async () => {
    const busy = new HashQueue({ concurrency: 1, queue: 0, perAccount: 100 });
    const own = new Passwords({ hashQueue: busy, random: systemRandom });
    const stored = await own.hashUnlessKnown('known', undefined);
    const blocked = Promise.withResolvers<void>();
    const work = busy.run(() => blocked.promise, source);
    for (const hash of [stored, undefined, 'unreadable']) {
      await expect(own.verify('wrong', hash, { source })).rejects.toMatchObject({
        code: 'temporarily_unavailable',
      });
    }
    blocked.resolve();
    await work;
  });
});
