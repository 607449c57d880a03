import pg from 'pg';
import type { Population } from '../declared-state.ts';
import { measure, measureRest, type Bench } from '../measure/measure.ts';
import { median } from '../measure/median.ts';
import { residentMemory } from '../measure/processor-time.ts';
import type { Row } from '../measure/row.ts';
import type { OperationName } from '../operations/index.ts';
import type { Topology } from '../options.ts';
import { applyState, pepperOf, startTessera, type System, type SystemOptions } from '../systems.ts';
import { populate } from './populate.ts';

/** A population, and a larger one that is compared with it. */
export interface Sizes {
  readonly small: Population;
  readonly large: Population;
  /** What there are many of. */
  readonly what: string;
  /** The operations that are asked at the path of a tenant; absent: all. */
  readonly operations?: readonly OperationName[];
}

const oneTenant: Population = { tenants: 1, applications: 10, people: 100, active: 10 };

/** 100,000 applications and 1,000,000 people. */
export const manyTenants: Sizes = {
  small: oneTenant,
  large: { ...oneTenant, tenants: 10_000, active: 1 },
  what: 'tenants',
};

const oneIssuer: Population = { tenants: 1, applications: 1, people: 1, active: 1, ownIssuers: true };

/** Each tenant has an issuer and keys of its own, and one application. */
export const manyIssuers: Sizes = {
  small: oneIssuer,
  large: { ...oneIssuer, tenants: 1_000 },
  what: 'tenant issuers',
  operations: ['client-credentials-json', 'client-credentials-form', 'client-credentials-es256'],
};

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

export interface Growth {
  readonly sizes: Sizes;
  readonly grown: readonly Grown[];
  /** Resident MiB of all processes after the load. */
  readonly memory: Compared;
}

interface Compared {
  readonly small: number;
  readonly large: number;
}

/** Measures each operation in turn on two systems that differ only in population. */
export async function growth(
  topology: Topology,
  operations: readonly OperationName[],
  bench: Bench,
  options: SystemOptions,
  sizes: Sizes,
): Promise<Growth> {
  const { stores } = bench;
  const { small, large, what } = sizes;
  const databaseUrls = await createDatabases(
    stores.databaseUrl,
    `${topology}_${what.replace(' ', '_')}`,
    async (databaseUrl) => {
      await applyState({ ...options, stores: { ...stores, databaseUrl }, population: small });
    },
  );
  bench.say(`declaring ${large.tenants} ${what}`);
  await populate(databaseUrls.large, large, { seed: options.seed, pepper: pepperOf(options.seed) });
  const optionsOf = (size: 'small' | 'large'): SystemOptions => {
    const redisUrl = new URL(stores.redisUrl);
    redisUrl.pathname = size === 'small' ? '/1' : '/2';
    const own = { ...stores, databaseUrl: databaseUrls[size], redisUrl: redisUrl.href };
    return { ...options, stores: own, population: sizes[size] };
  };
  const running: System[] = [];
  const grown: Grown[] = [];
  let memory: Compared;
  try {
    for (const size of ['small', 'large'] as const)
      running.push(await startTessera(topology, optionsOf(size)));
    const atRest = await measureRest(bench);
    for (const operation of operations.filter((name) => sizes.operations?.includes(name) ?? true)) {
      const [few, many] = await measure(operation, running, atRest, bench);
      if (few === undefined || many === undefined) continue;
      const ratio = median(
        few.seconds.map(({ micros }, turn) => (many.seconds[turn]?.micros ?? Number.NaN) / micros),
      );
      grown.push({ operation, system: topology, small: few, large: many, ratio });
    }
    const [few = Number.NaN, many = Number.NaN] = running.map(memoryOf);
    memory = { small: few, large: many };
  } finally {
    await Promise.all(running.map((system) => system.stop()));
  }
  return { sizes, grown, memory };
}

const memoryOf = ({ processes }: System): number =>
  processes.reduce((sum, { pid }) => sum + residentMemory(pid), 0);

/** Two databases with the same keys and the same state. */
async function createDatabases(
  serverUrl: string,
  suffix: string,
  declare: (databaseUrl: string) => Promise<void>,
): Promise<{ small: string; large: string }> {
  const names = { small: `small_${suffix}`, large: `large_${suffix}` };
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

export function describeGrowth({ sizes, grown, memory }: Growth): string {
  const { large, what } = sizes;
  const lines = grown.map(({ operation, system, small: few, large: many, ratio }) => {
    const written = ratio.toFixed(2);
    const errors = few.errors + many.errors;
    const verdict = errors > 0 ? `${errors} errors` : Number(written) <= target ? 'met' : 'not met';
    const costs = `${few.micros.toFixed(0).padStart(6)} → ${many.micros.toFixed(0).padStart(6)} µs`;
    const sql = `${few.statements.toFixed(2)} → ${many.statements.toFixed(2)} SQL`;
    return `${operation.padEnd(24)} ${system.padEnd(8)} ${costs}  ${sql}  ${written} of ${target} ${verdict}`;
  });
  const population =
    `${large.tenants} ${what}, ${large.tenants * large.applications} applications, ` +
    `${large.tenants * large.people} people, compared with one:`;
  const rest = `memory ${memory.small.toFixed(0)} → ${memory.large.toFixed(0)} MiB`;
  return [population, ...lines, rest, ''].join('\n');
}
