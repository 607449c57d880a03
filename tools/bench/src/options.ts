import { parseArgs } from 'node:util';
import { operationNames, type OperationName } from './operations/names.ts';

export const topologies = ['compact', 'split'] as const;
export type Topology = (typeof topologies)[number];

export interface Options {
  readonly only: readonly OperationName[];
  readonly topologies: readonly Topology[];
  /** Seconds of each measurement. */
  readonly duration: number;
  /** Seconds of each overload instead of measurements. */
  readonly overload: number | undefined;
  /** Seconds without a request instead of measurements. */
  readonly rest: number | undefined;
  /** Numbers of connections of the overloads. */
  readonly connections: readonly number[];
  /** Another checkout of this repository, overloaded in turn with this one. */
  readonly beside: string | undefined;
  /** The cost of a large population instead of the table. */
  readonly growth: boolean;
  /** Whether the peer is measured too. */
  readonly peer: boolean;
  readonly json: string | undefined;
  readonly compare: string | undefined;
  /** Folder for CPU profiles of the server processes. */
  readonly profile: string | undefined;
}

export const usage = `npm run bench -- [options]

  --only a,b        operations, of: ${operationNames.join(', ')}
  --topology t      compact, split, or both (the default)
  --duration n      seconds of each measurement, 5 by default
  --rest n          instead of measuring, n seconds without a request; says what CPU and memory they take
  --overload n      instead of measuring, the first tokens of 2,000 applications at once, then n seconds of each overload;
                    says what was served and refused
  --connections a,b connections of the overloads, 300,1000,3000 by default; each with clients that never pause and
                    with clients that honour Retry-After
  --beside DIR      another checkout, overloaded in turn with this one
  --growth          instead of the table, each operation with 10,000 tenants and with one, and tokens of 1,000 tenant
                    issuers and of one
  --no-peer         leave oidc-provider out
  --json FILE       write the result
  --compare FILE    compare with an earlier result
  --profile DIR     write CPU profiles of the server processes (numbers are then not comparable)
`;

/** A wrong command line; the message is one sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Throws UsageError. Undefined: help was requested. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const values = read(args);
  if (values.help === true) return undefined;
  const duration = Number(values.duration ?? '5');
  if (!Number.isInteger(duration) || duration < 1 || duration > 3600) {
    throw new UsageError('--duration is a whole number of seconds.');
  }
  return {
    only: chosen(values.only),
    topologies: chosenTopologies(values.topology ?? 'both'),
    duration,
    overload: seconds('overload', values.overload),
    rest: seconds('rest', values.rest),
    connections: numbers('connections', values.connections ?? '300,1000,3000'),
    beside: values.beside,
    growth: values.growth === true,
    peer: values['no-peer'] !== true,
    json: values.json,
    compare: values.compare,
    profile: values.profile,
  };
}

function seconds(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`--${option} is a whole number of seconds.`);
  return value;
}

function numbers(option: string, text: string): readonly number[] {
  const values = text.split(',').map(Number);
  if (values.some((value) => !Number.isInteger(value) || value < 1))
    throw new UsageError(`--${option} is a list of whole numbers.`);
  return values;
}

function read(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    only: text,
    topology: text,
    duration: text,
    overload: text,
    connections: text,
    beside: text,
    json: text,
    compare: text,
    profile: text,
    rest: text,
    growth: flag,
    'no-peer': flag,
    help: flag,
  };
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The options cannot be read.');
  }
}

function chosen(text: string | undefined): readonly OperationName[] {
  if (text === undefined) return operationNames;
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !operationNames.some((known) => known === name));
  if (unknown.length > 0) throw new UsageError(`There is no operation ${unknown.join(', ')}.`);
  return operationNames.filter((name) => names.includes(name));
}

function chosenTopologies(text: string): readonly Topology[] {
  if (text === 'both') return topologies;
  const found = topologies.find((topology) => topology === text);
  if (found === undefined) throw new UsageError('--topology is compact, split or both.');
  return [found];
}
