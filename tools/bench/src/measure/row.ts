import type { OperationName } from '../operations/index.ts';

/** One operation on one system. Times of processors are microseconds of user and system time per operation. */
export interface Row {
  readonly operation: OperationName;
  /** `compact`, `split`, `peer` or `bare`. */
  readonly system: string;
  readonly operations: number;
  /** Failed requests and wrong responses, warm-up included. */
  readonly errors: number;
  /** All server processes together, the median of the seconds. */
  readonly micros: number;
  readonly seconds: readonly Second[];
  /** The median of the physical work: one RS256 signature, or for a sign-in one argon2id hash. */
  readonly unit: number;
  readonly postgres: number;
  readonly redis: number;
  /** Per operation, without the work of an idle system. */
  readonly statements: number;
  /** Statements that reload directory records, which each process does every ten minutes. */
  readonly rereads: number;
  readonly commands: number;
  readonly perSecond: number;
}

/** One second of the loop. */
export interface Second {
  readonly micros: number;
  /** The unit of the row in the same second. */
  readonly unit: number;
}

export interface Start {
  readonly system: string;
  /** Milliseconds until ready, for a second start on a migrated database. */
  readonly startMs: number;
  /** MiB resident, by process, a second after it was ready. */
  readonly memory: Readonly<Record<string, number>>;
}

export interface Result {
  readonly at: string;
  readonly machine: { readonly processor: string; readonly cores: number; readonly node: string };
  /** Load average of the machine over one minute before the run. */
  readonly loadBefore: number;
  readonly duration: number;
  readonly starts: readonly Start[];
  readonly rows: readonly Row[];
}

/** For an even number of values, the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/**
 * How often the physical work fits into the operation: the median of what each second says, as both suffer from the
 * same neighbours.
 */
export const ratioOf = ({ seconds }: Row): number => median(seconds.map(({ micros, unit }) => micros / unit));

/** The cost of one row as a multiple of another's, second by second, because they alternate. */
export const ratioBetween = (row: Row, other: Row): number =>
  median(row.seconds.map(({ micros }, turn) => micros / (other.seconds[turn]?.micros ?? Number.NaN)));

/** Our cost as a multiple of another system's. */
export function ratioTo(other: 'peer' | 'bare', row: Row, rows: readonly Row[]): number | undefined {
  if (row.system === 'peer' || row.system === 'bare') return undefined;
  const theirs = rows.find(({ system, operation }) => system === other && operation === row.operation);
  return theirs && ratioBetween(row, theirs);
}
