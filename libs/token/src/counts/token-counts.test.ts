import { temporarilyUnavailable } from '@tessera/oauth';
import { timestampFromMs } from '@tessera/rpc';
import { eventually, fakeClock, silentLog, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '../wiring.ts';
import { world } from '../testing/world.ts';
import { createTokenCountStore } from './token-counts.postgres.ts';
import { countTokenRequests, hourMs, type TokenCount } from './token-counts.ts';

const noon = Math.floor(Date.now() / hourMs) * hourMs - 12 * hourMs;

let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

type Counts = { readonly counts: readonly { readonly issued: bigint; readonly refused: bigint }[] };

const count = async (tenantId: string, request: object = {}) => {
  const { count: asked } = createTokenCountStore(database);
  const of = { tenantId, startTime: timestampFromMs(noon), stretchSeconds: 3600, stretches: 3, ...request };
  const { counts } = await (asked as unknown as (request: object) => Promise<Counts>)(of);
  return counts.map(({ issued, refused }) => [Number(issued), Number(refused)]);
};

const counted = (tenantId: string, hours: number, issued: number, refused: number): TokenCount => ({
  tenantId,
  hour: noon + hours * hourMs,
  issued,
  refused,
});

describe('counts of token requests', () => {
  it('are those of one tenant in each stretch of time, from every process at once', async () => {
    const store = createTokenCountStore(database);
    const here = ['acme', 'globex'].flatMap((tenantId) => [
      counted(tenantId, -1, 9, 9),
      counted(tenantId, 0, 1, 2),
      counted(tenantId, 2, 3, 0),
      counted(tenantId, 3, 9, 9),
    ]);
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => store.add(at % 2 === 0 ? here : here.toReversed())),
    );
    await store.add([counted('acme', 2, 1, 1)]);
    expect(await count('acme')).toEqual([
      [20, 40],
      [0, 0],
      [61, 1],
    ]);
    expect(await count('globex', { stretchSeconds: 3 * 3600, stretches: 1 })).toEqual([[80, 40]]);
    expect(await count('initech')).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  it.each([
    [{ stretchSeconds: 5000 }, 'stretchSeconds'],
    [{ startTime: timestampFromMs(noon + 1) }, 'startTime'],
    [{ stretches: 101 }, 'stretches'],
  ])('are refused for %o, which nobody has counted', async (request, field) => {
    await expect(count('acme', request)).rejects.toThrow(field);
  });

  it('wait for a database that is away, and are written once', async () => {
    const clock = fakeClock(noon);
    const written: TokenCount[] = [];
    const line = { cut: true, tries: 0 };
    const counts = countTokenRequests({
      write: async (counts) => {
        line.tries += 1;
        if (line.cut) return Promise.reject(temporarilyUnavailable());
        written.push(...counts);
      },
      clock,
      log: silentLog(),
      pauseMs: 1,
    });
    counts.add('acme', 'issued');
    counts.add('acme', 'refused');
    await eventually('a try', () => Promise.resolve(line.tries > 1));
    counts.add('acme', 'issued');
    clock.set(noon + hourMs);
    counts.add('acme', 'issued');
    line.cut = false;
    await counts.close();
    expect(written).toEqual([counted('acme', 0, 2, 1), counted('acme', 1, 1, 0)]);
  });

  it('are gone after 8 days', async () => {
    const store = createTokenCountStore(database);
    await store.add([counted('old', -8 * 24, 1, 0), counted('old', -6 * 24, 1, 0)]);
    expect(await store.purge(100)).toBe(1);
    expect(
      await count('old', { startTime: timestampFromMs(noon - 9 * 24 * hourMs), stretches: 100 }),
    ).toContainEqual([0, 0]);
  });

  it('are written for what the token endpoint answers to applications that it knows', async () => {
    const on = await world({ runtime: { database } });
    await on.exchange('web', { grantType: 'client_credentials' });
    await on.exchange('web', { grantType: 'client_credentials' });
    await on
      .exchange('service', { grantType: 'client_credentials', scope: 'no.such' })
      .catch(() => undefined);
    await on.exchange('nobody', { grantType: 'client_credentials' }).catch(() => undefined);
    await on.close();
    const { rows } = await database.query<{ readonly issued: number; readonly refused: number }>({
      name: 'test.counts',
      text: `SELECT sum(issued)::int AS issued, sum(refused)::int AS refused FROM token.token_count
               WHERE hour >= to_timestamp($1::float8 / 1000)`,
      values: [Math.floor(Date.now() / hourMs) * hourMs],
    });
    expect(rows).toEqual([{ issued: 2, refused: 1 }]);
  });
});
