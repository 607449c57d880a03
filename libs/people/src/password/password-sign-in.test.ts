import { createSecretKey } from 'node:crypto';
import type { Database } from '@tessera/stores';
import { systemClock, systemRandom } from '@tessera/kit';
import { silentLog, testEmbeddedDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { HashQueue, Passwords } from '@tessera/directory/ground';
import { createAdminStore, createDirectoryStore } from '@tessera/directory/records';
import { migrations } from '@tessera/directory';
import { createPasswordSignIn } from './password-sign-in.ts';

/** Of "password", by the reference implementation, with parameters that are not ours. */
const imported = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4';

let database: Database;
beforeAll(async () => {
  database = await testEmbeddedDatabase(migrations);
});

/** A tenant of so many people with imported hashes, and how many hashes were made since. */
async function open(tenantId: string, people: number, { hash = imported, log = silentLog() } = {}) {
  await database.query({
    name: 'test.people',
    text: `WITH t AS (
             INSERT INTO directory.tenant (tenant_id, name, status) VALUES ($1, $1, 'active')
           ), u AS (
             INSERT INTO directory.user_account
                    (tenant_id, user_id, username, email, name, phone_number, status, password_hash)
             SELECT $1, 'usr_' || n, 'u' || n, '', '', '', 'active', $3 FROM generate_series(1, $2::int) AS n
           )
           INSERT INTO directory.user_identifier (tenant_id, identifier, user_id)
           SELECT $1, 'u' || n, 'usr_' || n FROM generate_series(1, $2::int) AS n`,
    values: [tenantId, people, hash],
  });
  let salts = 0;
  const bytes = (size: number) => {
    salts += 1;
    return systemRandom.bytes(size);
  };
  const hashQueue = new HashQueue({ concurrency: 1, queue: 1000, perAccount: 1000 });
  const passwords = new Passwords({ hashQueue, random: { bytes } });
  const admin = createAdminStore(database, { clock: systemClock, random: systemRandom });
  let stored = Promise.resolve();
  const signIns = createPasswordSignIn({
    store: createDirectoryStore(database),
    admin: { replacePasswordHash: (renewal) => stored.then(() => admin.replacePasswordHash(renewal)) },
    passwords,
    pepper: createSecretKey(Buffer.alloc(32, 1)),
    log,
  });
  salts = 0;
  const signIn = (identifier: string) =>
    signIns.signIn(
      { tenantId, identifier, password: 'password', ipAddress: '192.0.2.1' },
      AbortSignal.timeout(60_000),
    );
  /** Keeps hashes that were made from being stored until it is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stored = promise;
    return resolve;
  };
  return { signIn, signIns, hold, made: () => salts };
}

describe('the renewal of imported hashes (DOS-4)', () => {
  it('happens once per person, however often they sign in during it', async () => {
    const { signIn, signIns, hold, made } = await open('acme', 1);
    const go = hold();
    const all = await Promise.all(Array.from({ length: 20 }, () => signIn('u1')));
    expect(all.every((signedIn) => signedIn !== undefined)).toBe(true);
    go();
    await signIns.close();
    expect(made()).toBe(1);
    await signIn('u1');
    await signIns.close();
    expect(made()).toBe(1);
  });

  it('keeps a bounded number waiting and renews the others later', async () => {
    const { signIn, signIns, hold, made } = await open('umbra', 60);
    const everybody = () => Promise.all(Array.from({ length: 60 }, (_, n) => signIn(`u${n + 1}`)));
    const go = hold();
    await everybody();
    go();
    await signIns.close();
    expect(made()).toBe(32);
    expect((await everybody()).every((signedIn) => signedIn !== undefined)).toBe(true);
    await signIns.close();
    expect(made()).toBe(60);
  });
});

describe('a hash that costs more than is accepted, stored before it was refused', () => {
  it('is not computed; the person is told as for a wrong password, and the log says that it needs a reset', async () => {
    const lines: unknown[][] = [];
    const log = Object.assign(silentLog(), { warn: (...line: unknown[]) => void lines.push(line) });
    const hash = imported.replace('m=256,t=2', 'm=262144,t=16');
    const { signIn } = await open('dear', 2, { hash, log });
    const before = process.cpuUsage();
    expect([await signIn('u1'), await signIn('u1'), await signIn('u2')]).toEqual(Array(3).fill(undefined));
    // 4 GiB are written for one; processor seconds tell that from three of ours.
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
    expect(lines).toEqual([
      [{ tenantId: 'dear', userId: 'usr_1' }, expect.stringContaining('reset the password')],
    ]);
  });
});
