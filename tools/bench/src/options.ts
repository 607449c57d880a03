import { parseArgs } from 'node:util';
import { operationNames, type OperationName } from './operations/index.ts';

export const topologies = ['compact', 'split'] as const;
export type Topology = (typeof topologies)[number];

export const usage = `npm run bench -- [options]

  --only a,b        operations, of: ${operationNames.join(', ')}
  --topology t      compact, split, or both (the default)
  --duration n      seconds of each measurement, 5 by default
  --no-peer         leave oidc-provider out
  --json FILE       write the result
  --beside DIR      another checkout with its packages, measured in turn with this one; may be given several times

  instead of the table:
  --rest n          n seconds without a request; says what CPU and memory they take
  --overload n      the first tokens of 2,000 applications at once, then n seconds of 300, 1,000 and 3,000 connections of clients
                    that never pause; says what was served and refused, with --beside also of the others
  --growth          each operation with 10,000 tenants and with one, and tokens of 1,000 tenant issuers and of one
  --records         lists and searches of the administration API, and an apply of one tenant, with 10,000 tenants
`;

export type Options = ReturnType<typeof parseOptions>;

/** Throws if the command line is wrong. Times are in seconds. */
export function parseOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: operationNames.join(',') },
      topology: { type: 'string', default: 'both' },
      duration: { type: 'string', default: '5' },
      overload: { type: 'string' },
      rest: { type: 'string' },
      beside: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      growth: { type: 'boolean', default: false },
      records: { type: 'boolean', default: false },
      'no-peer': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { only, topology, duration, overload, rest } = values;
  return {
    ...values,
    only: only.split(',').map((name): OperationName => oneOf(operationNames, name.trim())),
    topologies: topology === 'both' ? topologies : [oneOf(topologies, topology)],
    duration: seconds(duration),
    overload: overload === undefined ? undefined : seconds(overload),
    rest: rest === undefined ? undefined : seconds(rest),
  };
}

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 3600)
    throw new Error(`${text} is not a whole number of seconds.`);
  return value;
}

function oneOf<T extends string>(allowed: readonly T[], text: string): T {
  const found = allowed.find((each) => each === text);
  if (found === undefined) throw new Error(`${text} is none of ${allowed.join(', ')}.`);
  return found;
}
