/**
 * The one view of SQL that services have. Two engines stand behind it: `pg` with a bounded pool, and embedded PGlite.
 * Trouble with the store (unreachable, pool exhausted, time-out, serialization failures after the bounded retries)
 * is thrown as the `temporarily_unavailable` OAuthError. Everything else (a violated constraint) is thrown as it is.
 *
 * Both engines read `bigint` as a number (a value beyond 2^53 is an error), `timestamptz` as Date, `json` and `jsonb`
 * as their value, `bytea` as Buffer, `text[]` as a list, `numeric`, `date` and `timestamp` as text. Parameters of
 * `json` and `jsonb` are given as JSON text, those of `timestamptz` as Date.
 */
export interface Statement {
  /** Name of the prepared statement, unique to its text: `<service>.<meaning>`. */
  readonly name: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  /**
   * Called at each attempt, once there is a connection; what it throws is the outcome, and nothing is sent. For a
   * statement that would do harm after its caller gave up.
   */
  readonly beforeSending?: (() => void) | undefined;
}

export interface Result<Row> {
  readonly rows: Row[];
  /** Rows returned or changed. */
  readonly rowCount: number;
}

export interface Queryable {
  query<Row = Record<string, unknown>>(statement: Statement): Promise<Result<Row>>;
}

export interface Database extends Queryable {
  readonly engine: 'postgres' | 'pglite';
  /** Runs `work` in one transaction; retried up to three times on 40001 and 40P01, so it must have no other effects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /**
   * Calls `heard` after changes of a record (`schema.table`) whose triggers announce them, by any process, and whenever
   * announcements may have been missed.
   */
  listen(record: string, heard: () => void): Listening;
  close(): Promise<void>;
}

/** Announcements of changes. They are a hint: without them, or if one is lost, the record has to be read regularly. */
export interface Listening {
  /** Whether announcements reach this process, as far as it knows. */
  readonly hears: boolean;
  /** To be called when a change was not announced. */
  renew(): void;
  close(): void;
}

/** A session as migrations need it: texts of several statements, no time-out of requests. */
export interface MigrationSession extends Queryable {
  run(sql: string): Promise<void>;
}

/** A database as it was opened, which alone can be migrated. */
export interface OpenedDatabase extends Database {
  /** Runs `work` in one transaction. */
  migration<T>(work: (session: MigrationSession) => Promise<T>): Promise<T>;
  /** Runs `work` in no transaction, on a session of its own, for statements that Postgres allows nowhere else. */
  outsideTransaction<T>(work: (session: MigrationSession) => Promise<T>): Promise<T>;
}
