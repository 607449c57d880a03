import type { Population } from './declared-state.ts';
import { measure, measureRest, type Bench } from './measure/measure.ts';
import { residentMemory } from './processor-time.ts';
import { ratioBetween, type Row } from './measure/row.ts';
import type { OperationName } from './operations/index.ts';
import type { Options, Topology } from './options.ts';
import { applyState, startTessera, withSystems, type SystemOptions } from './systems.ts';

/** A population, and a larger one that is compared with it. */
interface Sizes {
  readonly small: Population;
  readonly large: Population;
  /** What there are many of. */
  readonly what: string;
  /** The operations that are asked at the path of a tenant; absent: all. */
  readonly operations?: readonly OperationName[];
}

const oneTenant: Population = { tenants: 1, applications: 10, people: 100, active: 10 };
const oneIssuer: Population = { tenants: 1, applications: 1, people: 1, active: 1, ownIssuers: true };

/**
 * 100,000 applications and 1,000,000 people; tenants with an issuer and keys of their own, and one application each.
 */
const compared: readonly Sizes[] = [
  { small: oneTenant, large: { ...oneTenant, tenants: 10_000, active: 1 }, what: 'tenants' },
  {
    small: oneIssuer,
    large: { ...oneIssuer, tenants: 1_000 },
    what: 'tenant issuers',
    operations: ['client-credentials-json', 'client-credentials-form', 'client-credentials-es256'],
  },
];

/** At most this many times the cost of the same operation with one tenant. */
const target = 1.2;

/** Measures each operation in turn on two systems that differ only in population. */
export async function growth(
  { topologies, only }: Options,
  bench: Bench,
  options: SystemOptions,
): Promise<boolean> {
  let isWrong = false;
  for (const topology of topologies)
    for (const sizes of compared) {
      const operations = only.filter((name) => sizes.operations?.includes(name) ?? true);
      const rows = await measureBoth(topology, sizes, operations, bench, options);
      isWrong ||= rows.some(({ errors }) => errors > 0);
    }
  return isWrong;
}

async function measureBoth(
  topology: Topology,
  { small, large, what }: Sizes,
  operations: readonly OperationName[],
  bench: Bench,
  options: SystemOptions,
): Promise<readonly Row[]> {
  const start = (population: Population) => async () => {
    const own = { ...options, population, stores: await bench.stores.apart() };
    await applyState(own);
    return startTessera(topology, own);
  };
  return withSystems([start(small), start(large)], async (running) => {
    const atRest = await measureRest(bench);
    const rows: Row[] = [];
    const { tenants, applications, people } = large;
    const counts = `${tenants * applications} applications, ${tenants * people} people`;
    bench.print(`${tenants} ${what}, ${counts}, compared with one:`);
    for (const operation of operations) {
      const both = await measure(operation, running, atRest, bench);
      if (both[0] !== undefined && both[1] !== undefined) bench.print(compare(both[0], both[1]));
      rows.push(...both);
    }
    // Of all processes after the load.
    const memory = running.map(({ processes }) =>
      processes.reduce((sum, { pid }) => sum + residentMemory(pid), 0).toFixed(),
    );
    bench.print(`memory ${memory.join(' → ')} MiB`);
    return rows;
  });
}

function compare(small: Row, large: Row): string {
  const ratio = ratioBetween(large, small).toFixed(2);
  const errors = small.errors + large.errors;
  const verdict = errors > 0 ? `${errors} errors` : Number(ratio) <= target ? 'met' : 'not met';
  const costs = `${small.micros.toFixed(0).padStart(6)} → ${large.micros.toFixed(0).padStart(6)} µs`;
  const sql = `${small.statements.toFixed(2)} → ${large.statements.toFixed(2)} SQL`;
  return `${small.operation.padEnd(24)} ${small.system.padEnd(8)} ${costs}  ${sql}  ${ratio} of ${target} ${verdict}`;
}
