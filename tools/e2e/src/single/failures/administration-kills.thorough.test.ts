import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

/** Rounds, each with a process that is killed. */
const kills = Number(process.env['TESSERA_TEST_KILLS'] ?? 3);
const seed = Number(process.env['TESSERA_TEST_KILLS_SEED'] ?? Date.now() % 1_000_000);
const people = ['ada', 'bob', 'cleo'] as const;
/** Longer than anybody waits for an answer. */
const longestLockMs = 3_500;
/** For what was under way when the locks were released. */
const settleMs = 500;

let system: System;
let database: pg.Pool;
beforeAll(async () => {
  const databaseUrl = await installedDatabaseUrl();
  system = await startSystem(setUps.split, {
    stores: { databaseUrl, redisUrl: redisUrl() },
    // A statement may take longer than a call.
    environment: { TESSERA_DATABASE_STATEMENT_TIMEOUT: '5s' },
  });
  database = new pg.Pool({ connectionString: databaseUrl });
  database.on('error', () => undefined);
});
afterAll(async () => {
  await database?.end();
  await system?.stop();
});

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function nameOf(username: string): Promise<string> {
  const text = `SELECT name FROM directory.user_account WHERE tenant_id = 'acme' AND username = $1`;
  return (await database.query<{ name: string }>(text, [username])).rows[0]?.name ?? '';
}

async function idOf(username: string): Promise<string> {
  const text = `SELECT user_id FROM directory.user_account WHERE tenant_id = 'acme' AND username = $1`;
  return (await database.query<{ user_id: string }>(text, [username])).rows[0]?.user_id ?? '';
}

/** Keeps the row of a person locked for a while. */
async function lock(username: string, forMs: number): Promise<void> {
  const client = await database.connect();
  try {
    await client.query('BEGIN');
    const text = `SELECT 1 FROM directory.user_account WHERE tenant_id = 'acme' AND username = $1 FOR UPDATE`;
    await client.query(text, [username]);
    await sleep(forMs);
    await client.query('ROLLBACK');
  } finally {
    client.release();
  }
}

type Outcome = 'done' | 'not done' | 'unknown';

async function rename(userId: string, name: string): Promise<Outcome> {
  const { TESSERA_ADMIN_PORT: port, TESSERA_RPC_TOKEN: token } = system.environmentOf('admin');
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/tessera.admin.v1.UsersService/Update`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-tessera-caller': 'operator',
      },
      body: JSON.stringify({ tenantId: 'acme', user: { userId, name }, updateMask: 'name', takeOver: true }),
    });
    if (answer.status === 200) return 'done';
    const { message = '' } = (await answer.json()) as { readonly message?: string };
    expect([answer.status, message]).toEqual([503, expect.stringContaining('temporarily unavailable')]);
    return message.includes('It is not known') ? 'unknown' : 'not done';
  } catch (error) {
    if (error instanceof TypeError) return 'unknown';
    throw error;
  }
}

it('a change that waits for a lock longer than its caller for the answer is not made', async () => {
  const userId = await idOf('ada');
  const before = await nameOf('ada');
  const locked = lock('ada', longestLockMs);
  await sleep(100);
  expect(['not done', 'unknown']).toContain(await rename(userId, 'late'));
  await locked;
  await sleep(settleMs);
  expect(await nameOf('ada')).toBe(before);
});

it(
  `nothing that administration was told is not done happens later, through ${kills} kills (seed ${seed})`,
  { timeout: 120_000 + kills * 60_000 },
  async () => {
    const random = randomOf(seed);
    const counts: Record<Outcome, number> = { done: 0, 'not done': 0, unknown: 0 };
    const late: string[] = [];
    const ids = new Map(await Promise.all(people.map(async (who) => [who, await idOf(who)] as const)));
    for (let round = 0; round < kills; round += 1) {
      const victim = random() < 0.5 ? 'directory' : 'admin';
      const killed = system.processes.find(({ name }) => name === victim);
      const locks: Promise<void>[] = [];
      const writers = people.map(async (who) => {
        if (random() < 0.7) locks.push(lock(who, random() * longestLockMs));
        await sleep(random() * 200);
        const [before, wanted] = [await nameOf(who), `${who} ${round}`];
        const outcome = await rename(ids.get(who) ?? '', wanted);
        counts[outcome] += 1;
        const seen = outcome === 'done' ? wanted : before;
        return { who, outcome, seen, at: await nameOf(who) };
      });
      const [answers] = await Promise.all([
        Promise.all(writers),
        sleep(random() * longestLockMs).then(async () => killed?.kill()),
      ]);
      await Promise.all(locks);
      await sleep(settleMs);
      for (const { who, outcome, seen, at } of answers) {
        const now = await nameOf(who);
        if (outcome !== 'unknown' && (at !== seen || now !== seen))
          late.push(`round ${round}: ${who} was ${outcome}: ${seen}, then ${at}, then ${now}`);
      }
      await system.restart(victim);
    }
    expect(late, JSON.stringify(counts)).toEqual([]);
  },
);
