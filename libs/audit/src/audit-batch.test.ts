import { newDatabaseUrl, openTcpProxy } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '@tessera/kit';
import { createLogger } from '@tessera/telemetry';
import type { TcpProxy } from '@tessera/test-kit';
import { auditRow } from './audit-row.ts';
import { purgeAudit } from './audit-purge.ts';
import { createAuditBatch } from './audit-batch.ts';
import type { AuditBatch } from './audit-batch.ts';
import type { OpenedDatabase } from '@tessera/stores';
import { openDatabase } from '@tessera/stores';

const table = `CREATE TABLE sample.audit_event (event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(), event text NOT NULL, tenant_id text,
  outcome text NOT NULL CHECK (outcome <> 'refused'), reason text, record jsonb NOT NULL)`;

let direct: OpenedDatabase;
let database: OpenedDatabase;
let proxy: TcpProxy;
let written: string[] = [];
const batches: AuditBatch[] = [];
const log = createLogger(
  { service: 'test', level: 'info' },
  { write: (line: string) => void written.push(line) },
);
const runtime = { clock: systemClock, random: systemRandom, log };

beforeAll(async () => {
  const url = await newDatabaseUrl();
  direct = await openDatabase({ url });
  await direct.migration((session) => session.run(`CREATE SCHEMA sample; ${table}`));
  proxy = await openTcpProxy(url);
  database = await openDatabase({ url: proxy.url, acquireTimeoutMs: 1500 });
});
afterAll(async () => {
  for (const batch of batches) await batch.close();
  await database.close();
  await direct.close();
  await proxy.close();
});

function open(maxQueued?: number): AuditBatch {
  written = [];
  const batch = createAuditBatch({
    database,
    schema: 'sample',
    runtime,
    ...(maxQueued === undefined ? {} : { maxQueued }),
  });
  batches.push(batch);
  return batch;
}

async function count(event: string): Promise<number> {
  const { rows } = await direct.query<{ count: number }>({
    name: 'test.count',
    text: 'SELECT count(*) AS count FROM sample.audit_event WHERE event = $1',
    values: [event],
  });
  return rows[0]?.count ?? 0;
}

describe('createAuditBatch', () => {
  it('writes within a second, each event once', async () => {
    const batch = open();
    for (let i = 0; i < 1200; i += 1) batch.add({ event: 'batched', outcome: 'success', tenantId: `t${i}` });
    await expect.poll(() => count('batched')).toBe(1200);
    batch.add({ event: 'batched', outcome: 'failure', reason: 'wrong_password' });
    await expect.poll(() => count('batched')).toBe(1201);
  });

  it('writes the remaining rows when it is closed', async () => {
    const batch = open();
    for (let i = 0; i < 700; i += 1) batch.add({ event: 'closing', outcome: 'success' });
    await batch.close();
    expect(await count('closing')).toBe(700);
    batch.add({ event: 'closing', outcome: 'success' });
    expect(written.join('')).toContain('dropping audit rows');
  });

  it('keeps rows while the database is unavailable and writes each once afterwards', async () => {
    const batch = open();
    await proxy.cut();
    for (let i = 0; i < 600; i += 1) batch.add({ event: 'outage', outcome: 'success' });
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await count('outage')).toBe(0);
    await proxy.mend();
    await expect.poll(() => count('outage')).toBe(600);
    expect(written.join('')).not.toContain('dropped');
  });

  it('drops rows beyond its bound, and logs how many', async () => {
    const batch = open(10);
    for (let i = 0; i < 25; i += 1) batch.add({ event: 'bound', outcome: 'success' });
    await batch.close();
    expect(await count('bound')).toBe(10);
    expect(written.join('')).toContain('"event":"audit.dropped","schema":"sample","dropped":15');
  });

  it('logs how many rows it could not write if it is closed while the database is unavailable', async () => {
    const batch = open();
    await proxy.cut();
    batch.add({ event: 'lost', outcome: 'success' });
    await batch.close();
    await proxy.mend();
    expect(written.join('')).toContain('"dropped":1');
  });

  it('writes one row for the many refusals of one address, and every success (DOS-8)', async () => {
    const batch = open();
    const refusal = {
      event: 'flood',
      outcome: 'failure',
      reason: 'invalid_client',
      ipAddress: '192.0.2.7',
    } as const;
    for (let i = 0; i < 1000; i += 1) batch.add(refusal);
    for (let i = 0; i < 300; i += 1) batch.add({ ...refusal, outcome: 'success' });
    await batch.close();
    expect(await count('flood')).toBe(401);
    const { rows } = await direct.query<{ alike: string }>({
      name: 'test.summary',
      text: `SELECT record -> 'details' ->> 'alike' AS alike FROM sample.audit_event
              WHERE event = 'flood' AND record -> 'details' ->> 'alike' IS NOT NULL`,
    });
    expect(rows).toEqual([{ alike: '900' }]);
  });

  it('removes only rows older than the retention', async () => {
    const batch = open();
    for (let i = 0; i < 5; i += 1) batch.add({ event: 'kept', outcome: 'success' });
    await batch.close();
    const day = 86_400;
    const old = { now: () => systemClock.now() - 401 * day * 1000 };
    const row = auditRow(
      { event: 'aged', outcome: 'success' },
      { clock: { ...systemClock, ...old }, random: systemRandom },
    );
    await direct.query({
      name: 'test.aged',
      text: `INSERT INTO sample.audit_event (event_id, recorded_at, event, outcome, record)
             VALUES ($1, clock_timestamp() - interval '401 days', 'aged', 'success', $2)`,
      values: [row.eventId, row.record],
    });
    const options = { database: direct, schema: 'sample', retentionSeconds: 400 * day, clock: systemClock };
    expect(await purgeAudit({ ...options, retentionSeconds: 402 * day }, 500)).toBe(0);
    expect(await purgeAudit(options, 500)).toBe(1);
    expect(await purgeAudit(options, 500)).toBe(0);
    expect([await count('aged'), await count('kept')]).toEqual([0, 5]);
  });

  it('writes the other rows when the database refuses one', async () => {
    const batch = open();
    batch.add({ event: 'mixed', outcome: 'success' });
    batch.add({ event: 'mixed', outcome: 'refused' as 'failure' });
    batch.add({ event: 'mixed', outcome: 'failure' });
    await batch.close();
    expect(await count('mixed')).toBe(2);
    expect(written.join('')).toContain('rejected an audit row');
  });
});
