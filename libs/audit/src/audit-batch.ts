import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import type { Clock, Random } from '@tessera/kit';
import { metrics } from '@tessera/telemetry';
import { auditRow, type AuditEvent, type AuditRow } from './audit-row.ts';
import { AuditFloods } from './audit-floods.ts';
import { auditInsert, auditRecords } from './audit-insert.ts';
import type { Database, Statement } from '@tessera/stores';

/** Takes events of what changes no state, off the path of the request. */
export type AuditBatch = Pick<Batch, 'add' | 'close'>;

export interface AuditBatchDeps {
  readonly database: Database;
  readonly schema: string;
  readonly runtime: { readonly clock: Clock; readonly random: Random; readonly log: Logger };
  /** Rows kept while the database is unavailable; more are dropped and counted. */
  readonly maxQueued?: number;
}

const noted = metrics.counter({
  name: 'tessera_audit_events_total',
  help: 'Events for the audit trail that changed no state, such as refusals; what changes state is in its tables alone.',
  labels: ['event', 'outcome'],
});
const dropped = metrics.counter({
  name: 'tessera_audit_dropped_total',
  help: 'Events that are missing in the audit trail, because the database was unavailable for too long.',
});

const leftOut = metrics.counter({
  name: 'tessera_audit_summarised_total',
  help: 'Refusals that have no row of their own, because one address had a hundred like them in one tenant and minute; one row counts them.',
});

const flushAfterMs = 250;
const retryAfterMs = 1000;
const maxRows = 500;

/** Writes events in batches within a second. Rows survive a short outage of the database in a bounded queue. */
export function createAuditBatch(deps: AuditBatchDeps): AuditBatch {
  return new Batch(deps);
}

class Batch {
  readonly #deps: AuditBatchDeps;
  readonly #maxQueued: number;
  readonly #queue: AuditRow[] = [];
  readonly #floods: AuditFloods;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<boolean> | undefined;
  #isClosed = false;

  constructor(deps: AuditBatchDeps) {
    this.#deps = deps;
    this.#maxQueued = deps.maxQueued ?? 20_000;
    this.#floods = new AuditFloods(deps.runtime.clock);
  }

  /** Never throws and never waits. */
  add(event: AuditEvent): void {
    noted.labels(event.event, event.outcome).inc();
    this.#summarise();
    if (this.#floods.admits(event)) this.#enqueue(event);
    else leftOut.inc();
    this.#schedule(flushAfterMs);
  }

  #enqueue(event: AuditEvent): void {
    const { runtime, schema } = this.#deps;
    if (this.#isClosed || this.#queue.length >= this.#maxQueued) {
      if (this.#dropped === 0) runtime.log.warn({ event: 'audit.dropping', schema }, 'dropping audit rows');
      this.#dropped += 1;
      return;
    }
    try {
      this.#queue.push(auditRow(event, runtime));
    } catch (error) {
      runtime.log.error({ err: error, schema }, 'cannot encode an audit event');
    }
  }

  /** Writes what is left; what the database does not take then is counted in the log. */
  async close(): Promise<void> {
    this.#summarise(true);
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    if (!(await this.#flush())) this.#dropped += this.#queue.splice(0).length;
    this.#reportDropped();
  }

  #summarise(force = false): void {
    for (const event of this.#floods.summarise(force) ?? []) this.#enqueue(event);
  }

  #schedule(delayMs: number): void {
    const isIdle = this.#queue.length === 0 && !this.#floods.hasLeftOut;
    if (this.#timer !== undefined || this.#isClosed || isIdle) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#summarise();
      void this.#flush().then((done) => this.#schedule(done ? flushAfterMs : retryAfterMs));
    }, delayMs);
    this.#timer.unref();
  }

  /** One writer at a time; true when everything was written. */
  #flush(): Promise<boolean> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<boolean> {
    while (this.#queue.length > 0) {
      const rows = this.#queue.slice(0, maxRows);
      if (!(await this.#write(rows))) return false;
      this.#queue.splice(0, rows.length);
    }
    this.#reportDropped();
    return true;
  }

  /** False while the database is unavailable. A row that it refuses is dropped and must not keep the others from it. */
  async #write(rows: readonly AuditRow[]): Promise<boolean> {
    const { database, runtime, schema } = this.#deps;
    try {
      await database.query(insert(schema, rows));
      return true;
    } catch (error) {
      if (error instanceof OAuthError) return false;
      if (rows.length > 1) return this.#writeSingly(rows);
      this.#dropped += 1;
      runtime.log.error({ err: error, schema }, 'database rejected an audit row');
      return true;
    }
  }

  async #writeSingly(rows: readonly AuditRow[]): Promise<boolean> {
    for (const row of rows) if (!(await this.#write([row]))) return false;
    return true;
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const { runtime, schema } = this.#deps;
    runtime.log.warn({ event: 'audit.dropped', schema, dropped: this.#dropped }, 'dropped audit rows');
    dropped.inc(this.#dropped);
    this.#dropped = 0;
  }
}

/** Repeating it is harmless: a row that was written by an attempt without answer stays as it is. */
function insert(schema: string, rows: readonly AuditRow[]): Statement {
  return {
    name: `audit.${schema}.batch`,
    text: `${auditInsert(schema, 'SELECT jsonb_array_elements($1::jsonb)')} ON CONFLICT (event_id) DO NOTHING`,
    values: [auditRecords(rows)],
  };
}
