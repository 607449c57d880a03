import { systemRandom, ulid } from '@tessera/kit';
import { timestampFromMs } from '@tessera/rpc';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, expect, it } from 'vitest';
import { migrations } from '../index.ts';
import { signInCount } from './count-sign-ins.postgres.ts';

const hourMs = 3_600_000;
const noon = Date.UTC(2026, 0, 2, 12);

let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase(migrations);
  const rows = [
    // [minutes after noon, what happened, to whom, in which tenant]
    [-1, 'auth.login.succeeded', 'ada', 'acme'],
    [0, 'auth.login.succeeded', 'ada', 'acme'],
    [59, 'auth.login.succeeded', 'ada', 'acme'],
    [30, 'auth.login.succeeded', 'bob', 'acme'],
    [30, 'auth.login.failed', 'bob', 'acme'],
    [31, 'auth.login.failed', undefined, 'acme'],
    [30, 'auth.login.succeeded', 'gus', 'globex'],
    [40, 'session.created', 'ada', 'acme'],
    [130, 'auth.login.succeeded', 'bob', 'acme'],
    [180, 'auth.login.succeeded', 'bob', 'acme'],
  ] as const;
  for (const [minutes, event, subject, tenantId] of rows) {
    const eventId = ulid({ now: () => noon + minutes * 60_000 }, systemRandom);
    await database.query({
      name: 'test.sign_in',
      text: `INSERT INTO authorize.audit_event (event_id, event, tenant_id, outcome, record)
             VALUES ($1, $2, $3, 'success', $4::jsonb)`,
      values: [eventId, event, tenantId, JSON.stringify({ eventId, subject })],
    });
  }
});

const count = async (most?: number, request: object = {}) => {
  const asked = { tenantId: 'acme', startTime: timestampFromMs(noon), stretchSeconds: 3600, stretches: 3 };
  const handler = signInCount(database, most) as (request: object) => Promise<{
    readonly counts: readonly {
      readonly succeeded: number;
      readonly failed: number;
      readonly people: number;
    }[];
    readonly completeSince?: unknown;
  }>;
  return handler({ ...asked, ...request });
};

it('counts the sign-ins of one tenant in each stretch of time, and every person once', async () => {
  const { counts, completeSince } = await count();
  expect(counts).toEqual([
    { startTime: timestampFromMs(noon), succeeded: 3, failed: 2, people: 2 },
    { startTime: timestampFromMs(noon + hourMs), succeeded: 0, failed: 0, people: 0 },
    { startTime: timestampFromMs(noon + 2 * hourMs), succeeded: 1, failed: 0, people: 1 },
  ]);
  expect(completeSince).toBeUndefined();
});

it('says from when on the counts are whole if there are more than it looks at', async () => {
  const { counts, completeSince } = await count(3);
  expect(counts.at(-1)?.succeeded).toBe(1);
  expect(completeSince).toEqual(timestampFromMs(noon + hourMs));
});

it.each([{ stretches: 101 }, { stretches: 100, stretchSeconds: 366 * 86_400 }])(
  'refuses %o, which nobody can look at',
  async (request) => {
    await expect(count(undefined, request)).rejects.toThrow('stretches');
  },
);
