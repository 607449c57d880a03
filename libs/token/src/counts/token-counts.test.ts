import { systemClock } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import { timestampFromMs } from '@tessera/rpc';
import { eventually, fakeClock, silentLog, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '../wiring.ts';
import { world } from '../testing/world.ts';
import { tokenCount } from './count-tokens.postgres.ts';
import { addTokenCounts, countTokenRequests, hourMs, type TokenCount } from './token-counts.ts';

const noon = Math.floor(Date.now() / hourMs) * hourMs - 12 * hourMs;

let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

type Counts = { readonly counts: readonly { readonly issued: bigint; readonly refused: bigint }[] };

const count = async (tenantId: string, request: object = {}) => {
  const asked = tokenCount(database);
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
    const here = ['acme', 'globex'].flatMap((tenantId) => [
      counted(tenantId, -1, 9, 9),
      counted(tenantId, 0, 1, 2),
      counted(tenantId, 2, 3, 0),
      counted(tenantId, 3, 9, 9),
    ]);
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) =>
        addTokenCounts(database, at % 2 === 0 ? here : here.toReversed()),
      ),
    );
    await addTokenCounts(database, [counted('acme', 2, 1, 1)]);
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

  it('are kept while the database fails, and written once', async () => {
    const clock = fakeClock(noon);
    const line = { cut: true, tries: 0 };
    const counts = countTokenRequests({
      database: {
        async query(statement) {
          line.tries += 1;
          return line.cut ? Promise.reject(temporarilyUnavailable()) : database.query(statement);
        },
      },
      clock,
      log: silentLog(),
      pauseMs: 1,
    });
    counts.add('away', 'issued');
    counts.add('away', 'refused');
    await eventually('a try', () => Promise.resolve(line.tries > 1));
    counts.add('away', 'issued');
    clock.set(noon + hourMs);
    counts.add('away', 'issued');
    line.cut = false;
    await counts.close();
    expect(await count('away')).toEqual([
      [2, 1],
      [1, 0],
      [0, 0],
    ]);
  });

  it('are gone after 8 days', async () => {
    const counts = countTokenRequests({ database, clock: systemClock, log: silentLog() });
    await addTokenCounts(database, [counted('old', -8 * 24, 1, 0), counted('old', -6 * 24, 1, 0)]);
    expect(await counts.purge(100)).toBe(1);
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
    // A poll that comes early is refused nothing (RFC 8628 §3.5).
    const deviceCode = on.device.start('td_');
    await on.exchange('web', { grantType: 'device_code', deviceCode }).catch(() => undefined);
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
