import pg from 'pg';
import type { Connection, PoolClient, Submittable } from 'pg';
import type { Result, Statement } from '../database.ts';
import { postgresTypes } from './types.ts';

/**
 * Runs a prepared statement. Postgres refuses a prepared statement whose columns changed, so it is asked what they are
 * once in each session, and not with every execution as the driver's own `Query` does.
 * @param timeoutMs after which the driver gives up; undefined: never
 * @throws the error of Postgres or of the driver as it is
 */
export async function execute<Row>(
  client: PoolClient,
  statement: Statement,
  timeoutMs?: number,
): Promise<Result<Row>> {
  // A value that cannot be sent is noticed here, before the session has heard of the statement.
  const execution = new Execution(statement, timeoutMs);
  try {
    await new Promise<void>((resolve, reject) => {
      execution.callback = (error) => {
        if (error === null) resolve();
        else reject(error);
      };
      client.query(execution);
    });
  } catch (error) {
    // It came from the socket: its stack tells nothing of who asked.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
  return { rows: execution.rows as Row[], rowCount: execution.rowCount };
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** By session, then by statement. */
const columnsKnown = new WeakMap<object, Map<string, readonly Column[]>>();

function columnsKnownIn(session: Connection): Map<string, readonly Column[]> {
  let known = columnsKnown.get(session);
  if (known === undefined) {
    known = new Map();
    columnsKnown.set(session, known);
  }
  return known;
}

/** What the driver keeps of the prepared statements of a session. */
interface Session extends Connection {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
}

interface Described {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

// The driver's types leave it out.
const { prepareValue } = Reflect.get(pg, 'utils') as {
  prepareValue: (value: unknown) => string | Buffer | null;
};

/** One execution, told by the driver what Postgres answers (https://node-postgres.com/apis/client, `Submittable`). */
class Execution implements Submittable {
  readonly name: string;
  readonly text: string;
  readonly values: (string | Buffer | null)[];
  /** Read by the driver, which wraps the callback for it. */
  readonly query_timeout: number | undefined;
  callback: (error: Error | null) => void = () => undefined;
  readonly rows: Record<string, unknown>[] = [];
  rowCount = 0;
  #known: Map<string, readonly Column[]> | undefined;
  #columns: readonly Column[] | undefined;
  #failure: Error | undefined;

  constructor({ name, text, values }: Statement, timeoutMs: number | undefined) {
    this.name = name;
    this.text = text;
    this.values = values === undefined ? [] : values.map((value) => prepareValue(value));
    this.query_timeout = timeoutMs;
  }

  /** @returns what keeps it from being sent */
  submit(connection: Connection): Error | null {
    const session = connection as Session;
    const prepared = session.parsedStatements[this.name] ?? session.submittedNamedStatements[this.name];
    if (prepared !== undefined && prepared !== this.text)
      return new Error(
        `Prepared statements must be unique - '${this.name}' was used for a different statement`,
      );
    this.#known = columnsKnownIn(connection);
    this.#columns = this.#known.get(this.name);
    connection.stream.cork();
    try {
      if (prepared === undefined) {
        connection.parse({ name: this.name, text: this.text, types: [] }, true);
        session.submittedNamedStatements[this.name] = this.text;
      }
      connection.bind({ statement: this.name, values: this.values }, true);
      if (this.#columns === undefined) connection.describe({ type: 'P' }, true);
      connection.execute(null, true);
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: Described): void {
    this.#learn(
      fields.map(({ name, dataTypeID }) => {
        const parse = postgresTypes.getTypeParser(dataTypeID, 'text') as Column['parse'];
        return { name, parse };
      }),
    );
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#failure !== undefined || this.#columns === undefined) return;
    const row: Record<string, unknown> = {};
    try {
      for (const [index, { name, parse }] of this.#columns.entries()) {
        const text = fields[index] ?? null;
        row[name] = text === null ? null : parse(text);
      }
      this.rows.push(row);
    } catch (error) {
      this.#failure = error as Error;
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    // `INSERT 0 2`, `SELECT 2`, or words alone.
    this.rowCount = Number(text.slice(text.lastIndexOf(' ') + 1)) || 0;
    if (this.#columns === undefined) this.#learn([]);
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure ?? null);
  }

  handleError(error: Error): void {
    this.callback(this.#failure ?? error);
  }

  #learn(columns: readonly Column[]): void {
    this.#columns = columns;
    this.#known?.set(this.name, columns);
  }
}
