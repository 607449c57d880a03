import { systemRandom } from '@tessera/kit';
import { describe, expect, it } from 'vitest';
import { costOf, ownCost, type HashCost } from '../hashing/cost.ts';
import { HashQueue } from '../hashing/hash-queue.ts';
import { decodePasswordHash } from '../hashing/phc.ts';
import { Passwords } from './passwords.ts';

const hashQueue = new HashQueue({ concurrency: 2, queue: 100, perAccount: 100 });
const source = { address: '192.0.2.1', network: '192.0.2', account: 'ada', tenant: 'acme' };
const passwords = new Passwords({ hashQueue, random: systemRandom });

describe('passwords', () => {
  it('verify only against their own hash', async () => {
    const stored = await passwords.hashUnlessKnown('correct horse', undefined, 'acme');
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await passwords.verify('correct horse', stored, { source })).toBe(true);
    expect(await passwords.verify('Correct horse', stored, { source })).toBe(false);
    expect(await passwords.verify('', stored, { source })).toBe(false);
  });

  it.each([
    ['argon2id', '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'],
    ['argon2i', '$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8'],
    ['argon2d', '$argon2d$v=19$m=256,t=2,p=1$c29tZXNhbHQ$JcTui6RIBUtJ78gE5Hi52CO+H5vS6Z9R1uxAB6OhUB8'],
    [
      'PBKDF2 with SHA-256',
      '$pbkdf2-sha256$6400$k/Ie45wTQug9pzRmLEWIUQ$QzseQm8a5Aehjo1FqzwfzeC61d.9BSvOj7Gq4ZLSghE',
    ],
    [
      'PBKDF2 with SHA-512',
      '$pbkdf2-sha512$i=6400$kPIeA8B4TwkhpNR6jzEmBA$GsyuPSeIH8WKHkGSnbbztagoj7.4KWWk6CRaWsGkpgzf1yEocdnKM4Mv0fVgjttZ8o.2mXoYh9CbD7h7/FC5XQ',
    ],
    ['scrypt', '$scrypt$ln=10,r=8,p=1$EGIsRYixFiIkhHDu/b+X0g$otiU8TLY66LaR7IkCAyhBucNNF9UpLRWWXVNeH/BZMg'],
    ['bcrypt', '$2b$05$.RJJ/wIRZRZBMkucu0aRhOPh7UUbVqzjNn1gCQbrnVW13z9Zou2.O'],
  ])(
    'verify against a hash by %s that another implementation made, which is not current',
    async (_by, stored) => {
      expect(await passwords.verify('password', stored, { source })).toBe(true);
      expect(await passwords.verify('Password', stored, { source })).toBe(false);
      expect(await passwords.verify('password', undefined, { source, standIn: stored })).toBe(false);
      expect(passwords.isCurrent(stored)).toBe(false);
    },
  );

  it('verify against a hash of several blocks (RFC 6070)', async () => {
    const stored =
      '$pbkdf2-sha1$i=4096,l=25$c2FsdFNBTFRzYWx0U0FMVHNhbHRTQUxUc2FsdFNBTFRzYWx0$PS7sT+QchJuAyNg2YsDkSospGpZM8vBwOA';
    expect(await passwords.verify('passwordPASSWORDpassword', stored, { source })).toBe(true);
  });

  it.each([
    ['bcrypt', '$2b$12$.RJJ/wIRZRZBMkucu0aRhOPh7UUbVqzjNn1gCQbrnVW13z9Zou2.O'],
    ['PBKDF2', `$pbkdf2-sha256$i=1000000$c29tZXNhbHQ$QzseQm8a5Aehjo1FqzwfzeC61d.9BSvOj7Gq4ZLSghE`],
    ['scrypt', '$scrypt$ln=17,r=8,p=1$EGIsRYixFiIkhHDu/b+X0g$otiU8TLY66LaR7IkCAyhBucNNF9UpLRWWXVNeH/BZMg'],
  ])('leave the event loop free while they are compared by %s (DOS-4)', async (_by, stored) => {
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    const started = last;
    expect(await passwords.verify('wrong', stored, { source })).toBe(false);
    const took = performance.now() - started;
    clearInterval(timer);
    expect(Math.max(longest, performance.now() - last)).toBeLessThan(took / 2);
  });

  it('never verify without a stored hash or against an unreadable one', async () => {
    expect(await passwords.verify('anything', undefined, { source })).toBe(false);
    expect(await passwords.verify('anything', 'anything', { source })).toBe(false);
  });

  it('are equal in any Unicode composition (RFC 8265 §4.2)', async () => {
    const stored = await passwords.hashUnlessKnown('caf\u00e9', undefined, 'acme');
    expect(await passwords.verify('cafe\u0301', stored, { source })).toBe(true);
  });

  it('may have 1024 characters; longer ones are refused before hashing', async () => {
    const idle = new HashQueue({ concurrency: 1, queue: 0, perAccount: 100 });
    const long = 'x'.repeat(1024);
    const own = new Passwords({ hashQueue: idle, random: systemRandom });
    const stored = await own.hashUnlessKnown(long, undefined, 'acme');
    expect(await own.verify(long, stored, { source })).toBe(true);
    const blocked = Promise.withResolvers<void>();
    void idle.run(() => blocked.promise, source);
    await expect(own.verify('x'.repeat(1_000_000), stored, { source })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    blocked.resolve();
  });

  it('keep their hash if declared again unchanged', async () => {
    const stored = await passwords.hashUnlessKnown('one', undefined, 'acme');
    expect(await passwords.hashUnlessKnown('one', stored, 'acme')).toBe(stored);
    expect(await passwords.hashUnlessKnown('two', stored, 'acme')).not.toBe(stored);
  });

  it.each([
    '$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4',
    '$pbkdf2-sha256$i=1000000$c29tZXNhbHQ$QzseQm8a5Aehjo1FqzwfzeC61d.9BSvOj7Gq4ZLSghE',
    '$2b$12$.RJJ/wIRZRZBMkucu0aRhOPh7UUbVqzjNn1gCQbrnVW13z9Zou2.O',
  ])(
    'of unknown people take as long as a hash of the tenant, of whatever kind (ENUM-1): %s',
    async (costly) => {
      // What is computed is counted, not the time that it takes on a busy machine.
      const costs: (HashCost | undefined)[] = [];
      class CountingQueue extends HashQueue {
        override run<T>(...[work, from, turn]: Parameters<HashQueue['run']>): Promise<T> {
          costs.push(turn?.cost);
          return super.run(work, from, turn) as Promise<T>;
        }
      }
      const counting = new CountingQueue({ concurrency: 2, queue: 100, perAccount: 100 });
      const counted = new Passwords({ hashQueue: counting, random: systemRandom });
      for (const [stored, standIn] of [[costly], [undefined, costly], [undefined]])
        expect(await counted.verify('wrong', stored, { source, standIn })).toBe(false);
      const hash = decodePasswordHash(costly);
      const cost = hash && costOf(hash);
      expect(cost).toMatchObject({ isDear: true });
      expect(costs).toEqual([cost, cost, ownCost]);
      expect(passwords.isCurrent(costly)).toBe(false);
      expect(passwords.isCurrent(await passwords.renewed('x', 'acme'))).toBe(true);
    },
  );

  it('of unknown people cost one hash, as wrong ones do, so timing reveals nothing', async () => {
    const busy = new HashQueue({ concurrency: 1, queue: 0, perAccount: 100 });
    const own = new Passwords({ hashQueue: busy, random: systemRandom });
    const stored = await own.hashUnlessKnown('known', undefined, 'acme');
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
