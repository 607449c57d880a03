import type { Topology } from '../options.ts';
import type { OperationName } from '../operations/names.ts';

/** One operation on one system. Times of processors are microseconds of user and system time per operation. */
export interface Row {
  readonly operation: OperationName;
  readonly system: Topology | 'oidc-provider';
  readonly operations: number;
  /** Requests that failed or were answered wrongly, warming up included. */
  readonly errors: number;
  /** All server processes together. */
  readonly micros: number;
  readonly processes: Readonly<Record<string, number>>;
  /** One RS256 signature, measured while this row was. */
  readonly signature: number;
  /** One argon2id hash, where the row is about one; else 0. */
  readonly passwordHash: number;
  readonly postgres: number;
  readonly redis: number;
  /** Per operation, without what the system does at rest. */
  readonly statements: number;
  readonly commands: number;
  /** In the closed loop. */
  readonly perSecond: number;
  /** In the open loop: requests a second, and milliseconds from when a request was due. */
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Start {
  readonly system: Topology | 'oidc-provider';
  /** Milliseconds until ready, of a second start on a migrated database. */
  readonly startMs: number;
  /** MiB resident, by process, some seconds after the start. */
  readonly memory: Readonly<Record<string, number>>;
}

export interface Result {
  readonly at: string;
  readonly machine: { readonly processor: string; readonly cores: number; readonly node: string };
  /** Load average of the machine, one minute, before the run. */
  readonly loadBefore: number;
  readonly duration: number;
  readonly starts: readonly Start[];
  readonly rows: readonly Row[];
}

/** What the row is measured with: a signature, or for a sign-in a password hash. */
export const yardstickOf = (row: Row): number => (row.passwordHash > 0 ? row.passwordHash : row.signature);

/** How often the physical work fits into the operation. */
export const ratioOf = (row: Row): number => row.micros / yardstickOf(row);

/** The peer's row for the same operation. */
export function peerOf(row: Row, rows: readonly Row[]): Row | undefined {
  // The costs of a cold and a warm introspection are one to a peer without a cache.
  const operation = row.operation === 'introspect-access-cold' ? 'introspect-access' : row.operation;
  return rows.find((other) => other.system === 'oidc-provider' && other.operation === operation);
}

/** Our cost as a part of the peer's, which is measured in turn with it. */
export function ratioToPeer(row: Row, rows: readonly Row[]): number | undefined {
  if (row.system === 'oidc-provider') return undefined;
  const peer = peerOf(row, rows);
  return peer === undefined ? undefined : row.micros / peer.micros;
}
