import { Client } from 'pg';
import type { ClientConfig, PoolConfig } from 'pg';

/** The servers of which one is the primary, and which of them new connections go to. */
export interface PostgresHosts {
  readonly count: number;
  /** For the pool. */
  readonly options: PoolConfig;
  /** Where the next connection goes, by its place. */
  readonly chosen: number;
  /** The server at this place takes no connections, or only reads: the next one is asked. */
  leave(place: number): void;
}

/** A connection string for each server, and how long one may take to say what it is. */
export function createHosts(urls: readonly string[], timeoutMs: number): PostgresHosts {
  const [first = ''] = urls;
  if (urls.length <= 1)
    return { count: 1, options: { connectionString: first }, chosen: 0, leave: () => undefined };
  let chosen = 0;
  class HostClient extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: urls[chosen] ?? first });
    }
  }
  const question = { text: 'SHOW transaction_read_only', query_timeout: timeoutMs };
  return {
    count: urls.length,
    options: {
      Client: HostClient,
      verify: (client, done) =>
        client.query<ReadOnlyRow>(question, (error, result) => {
          done(error ?? refusal(result.rows[0]));
        }),
    },
    get chosen() {
      return chosen;
    },
    leave(place) {
      if (chosen === place) chosen = (chosen + 1) % urls.length;
    },
  };
}

interface ReadOnlyRow {
  readonly transaction_read_only: string;
}

/** What Postgres itself would say at the first statement that writes. */
function refusal(row: ReadOnlyRow | undefined): Error | undefined {
  if (row?.transaction_read_only === 'off') return undefined;
  return Object.assign(new Error('This server only reads.'), { code: '25006', severity: 'ERROR' });
}
