import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import type { Clock } from '../clock.ts';
import type { Random } from '../ids.ts';
import { auditRow } from './audit.ts';
import type { AuditEvent, AuditRow } from './audit.ts';
import type { Database, Statement } from './database.ts';

/** Takes events of what changes no state, off the path of the request. */
export interface AuditBatch {
  /** Never throws and never waits. */
  add(event: AuditEvent): void;
  /** Writes what is left; what the database does not take then is counted in the log. */
  close(): Promise<void>;
}

export interface AuditBatchOptions {
  readonly database: Database;
  readonly schema: string;
  readonly kit: { readonly clock: Clock; readonly random: Random; readonly log: Logger };
  /** Rows kept while the database is away; more are dropped and counted. */
  readonly maxQueued?: number;
}

const flushAfterMs = 250;
const retryAfterMs = 1000;
const maxRows = 500;

/** Writes events in batches within a second. Rows survive a short outage of the database in a bounded queue. */
export function createAuditBatch({
  database,
  schema,
  kit,
  maxQueued = 20_000,
}: AuditBatchOptions): AuditBatch {
  const queue: AuditRow[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<boolean> | undefined;
  let closed = false;

  function schedule(delayMs: number): void {
    if (timer !== undefined || closed || queue.length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      void flush().then((done) => schedule(done ? flushAfterMs : retryAfterMs));
    }, delayMs);
    timer.unref();
  }

  /** One writer at a time; true when the queue was written as far as it went. */
  function flush(): Promise<boolean> {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function writeAll(): Promise<boolean> {
    while (queue.length > 0) {
      const rows = queue.slice(0, maxRows);
      const outcome = await write(rows);
      if (outcome === 'away') return false;
      queue.splice(0, rows.length);
    }
    reportDropped();
    return true;
  }

  async function write(rows: readonly AuditRow[]): Promise<'written' | 'away'> {
    try {
      await database.query(insert(schema, rows));
    } catch (error) {
      if (error instanceof OAuthError) return 'away';
      return rows.length > 1 ? writeSingly(rows) : refuse(error);
    }
    return 'written';
  }

  /** One row that the database refuses must not keep the others from it. */
  async function writeSingly(rows: readonly AuditRow[]): Promise<'written' | 'away'> {
    for (const row of rows) if ((await write([row])) === 'away') return 'away';
    return 'written';
  }

  function refuse(error: unknown): 'written' {
    dropped += 1;
    kit.log.error({ error, schema }, 'the database refused an audit row');
    return 'written';
  }

  function reportDropped(): void {
    if (dropped === 0) return;
    kit.log.warn({ event: 'audit.dropped', schema, dropped }, 'audit rows were dropped');
    dropped = 0;
  }

  return {
    add(event) {
      if (closed || queue.length >= maxQueued) {
        if (dropped === 0) kit.log.warn({ event: 'audit.dropping', schema }, 'audit rows are being dropped');
        dropped += 1;
        return;
      }
      try {
        queue.push(auditRow(event, kit));
      } catch (error) {
        kit.log.error({ error, schema }, 'an audit event could not be encoded');
      }
      schedule(flushAfterMs);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await writing;
      if (!(await flush())) dropped += queue.splice(0).length;
      reportDropped();
    },
  };
}

/** Repeating it is harmless: a row that was written by an attempt without answer stays as it is. */
function insert(schema: string, rows: readonly AuditRow[]): Statement {
  return {
    name: `audit.${schema}.batch`,
    text: `INSERT INTO ${schema}.audit_event (event_id, event, tenant_id, outcome, reason, record)
SELECT e, n, t, o, r, j::jsonb
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) AS rows (e, n, t, o, r, j)
ON CONFLICT (event_id) DO NOTHING`,
    values: [
      rows.map((row) => row.eventId),
      rows.map((row) => row.event),
      rows.map((row) => row.tenantId),
      rows.map((row) => row.outcome),
      rows.map((row) => row.reason),
      rows.map((row) => row.record),
    ],
  };
}
