import pg from 'pg';
import type { Population } from '../declared-state.ts';
import { measure, measureRest, type Bench } from '../measure/measure.ts';
import { median } from '../measure/median.ts';
import type { Row } from '../measure/row.ts';
import type { OperationName } from '../operations/names.ts';
import type { Topology } from '../options.ts';
import { applyState, pepperOf, startTessera, type System, type SystemOptions } from '../systems.ts';
import { populate } from './populate.ts';

/** One tenant, and the population that is compared with it: 100,000 applications, 1,000,000 people. */
const small: Population = { tenants: 1, applications: 10, people: 100, active: 10 };
const large: Population = { ...small, tenants: 10_000, active: 1 };
/** At most this many times the cost of the same operation with one tenant. */
const target = 1.2;

export interface Grown {
  readonly operation: OperationName;
  readonly system: Topology;
  readonly small: Row;
  readonly large: Row;
  /** Median over the loops of large / small, in processor time per operation. */
  readonly ratio: number;
}

/** Measures each operation in turn on two systems that differ only in population. */
export async function growth(
  topology: Topology,
  operations: readonly OperationName[],
  bench: Bench,
  options: SystemOptions,
): Promise<Grown[]> {
  const { stores } = bench;
  const databaseUrls = await createDatabases(stores.databaseUrl, topology, async (databaseUrl) => {
    await applyState({ ...options, stores: { ...stores, databaseUrl }, population: small });
  });
  bench.say(`declaring ${large.tenants} tenants`);
  await populate(databaseUrls.large, large, { seed: options.seed, pepper: pepperOf(options.seed) });
  const running: System[] = [];
  try {
    for (const size of ['small', 'large'] as const) {
      const redisUrl = new URL(stores.redisUrl);
      redisUrl.pathname = size === 'small' ? '/1' : '/2';
      running.push(
        await startTessera(topology, {
          ...options,
          stores: { ...stores, databaseUrl: databaseUrls[size], redisUrl: redisUrl.href },
          population: size === 'small' ? small : large,
        }),
      );
    }
    const atRest = await measureRest(bench);
    const grown: Grown[] = [];
    for (const operation of operations) {
      const [few, many] = await measure(operation, running, atRest, bench);
      if (few === undefined || many === undefined) continue;
      const ratio = median(
        few.seconds.map(({ micros }, turn) => (many.seconds[turn]?.micros ?? Number.NaN) / micros),
      );
      grown.push({ operation, system: topology, small: few, large: many, ratio });
    }
    return grown;
  } finally {
    await Promise.all(running.map((system) => system.stop()));
  }
}

/** Two databases with the same keys and the same state. */
async function createDatabases(
  serverUrl: string,
  topology: Topology,
  declare: (databaseUrl: string) => Promise<void>,
): Promise<{ small: string; large: string }> {
  const names = { small: `small_${topology}`, large: `large_${topology}` };
  const urlOf = (name: string): string => {
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    return url.href;
  };
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  try {
    await server.query(`CREATE DATABASE ${names.small}`);
    await declare(urlOf(names.small));
    await server.query(`CREATE DATABASE ${names.large} TEMPLATE ${names.small}`);
  } finally {
    await server.end();
  }
  return { small: urlOf(names.small), large: urlOf(names.large) };
}

export function describeGrowth(grown: readonly Grown[]): string {
  const lines = grown.map(({ operation, system, small: few, large: many, ratio }) => {
    const written = ratio.toFixed(2);
    const errors = few.errors + many.errors;
    const verdict = errors > 0 ? `${errors} errors` : Number(written) <= target ? 'met' : 'not met';
    const costs = `${few.micros.toFixed(0).padStart(6)} → ${many.micros.toFixed(0).padStart(6)} µs`;
    const sql = `${few.statements.toFixed(2)} → ${many.statements.toFixed(2)} SQL`;
    return `${operation.padEnd(24)} ${system.padEnd(8)} ${costs}  ${sql}  ${written} of ${target} ${verdict}`;
  });
  const sizes =
    `${large.tenants} tenants, ${large.tenants * large.applications} applications, ` +
    `${large.tenants * large.people} people beside one tenant:`;
  return [sizes, ...lines, ''].join('\n');
}
