import { parseArgs } from 'node:util';
import { operationNames, type OperationName } from './operations/index.ts';

export const topologies = ['compact', 'split'] as const;
export type Topology = (typeof topologies)[number];

export interface Options {
  readonly only: readonly OperationName[];
  readonly topologies: readonly Topology[];
  /** Seconds of each measurement. */
  readonly duration: number;
  /** Seconds of each overload instead of measurements. */
  readonly overload: number | undefined;
  /** Another checkout of this repository, overloaded in turn with this one. */
  readonly beside: string | undefined;
  /** Seconds without a request instead of measurements. */
  readonly rest: number | undefined;
  /** The cost of a large population instead of the table. */
  readonly growth: boolean;
  /** Lists, searches and an apply of a large directory instead of the table. */
  readonly records: boolean;
  /** Whether the peer is measured too. */
  readonly peer: boolean;
  readonly json: string | undefined;
}

export const usage = `npm run bench -- [options]

  --only a,b        operations, of: ${operationNames.join(', ')}
  --topology t      compact, split, or both (the default)
  --duration n      seconds of each measurement, 5 by default
  --no-peer         leave oidc-provider out
  --json FILE       write the result

  instead of the table:
  --rest n          n seconds without a request; says what CPU and memory they take
  --overload n      the first tokens of 2,000 applications at once, then n seconds of 300, 1,000 and 3,000 connections, of clients
                    that never pause and of clients that honour Retry-After; says what was served and refused
  --beside DIR      another checkout, overloaded in turn with this one
  --growth          each operation with 10,000 tenants and with one, and tokens of 1,000 tenant issuers and of one
  --records         lists and searches of the administration API, and an apply of one tenant, with 10,000 tenants
`;

/** A wrong command line; the message is one sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Throws UsageError. Undefined: help was requested. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { help, duration = '5', topology = 'both', only, ...values } = read(args);
  if (help === true) return undefined;
  const chosen = (only ?? operationNames.join(',')).split(',').map((name) => name.trim());
  return {
    only: chosen.map((name) => oneOf('only', name, operationNames)),
    topologies: topology === 'both' ? topologies : [oneOf('topology', topology, topologies)],
    duration: seconds('duration', duration),
    overload: values.overload === undefined ? undefined : seconds('overload', values.overload),
    beside: values.beside,
    rest: values.rest === undefined ? undefined : seconds('rest', values.rest),
    growth: values.growth === true,
    records: values.records === true,
    peer: values['no-peer'] !== true,
    json: values.json,
  };
}

function read(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    only: text,
    topology: text,
    duration: text,
    overload: text,
    beside: text,
    json: text,
    rest: text,
    growth: flag,
    records: flag,
    'no-peer': flag,
    help: flag,
  };
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The options cannot be read.');
  }
}

function seconds(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 3600)
    throw new UsageError(`--${option} is a whole number of seconds.`);
  return value;
}

function oneOf<T extends string>(option: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === text);
  if (found === undefined) throw new UsageError(`--${option} knows no ${text}.`);
  return found;
}
