/**
 * `npm run bench`: starts compact, split and a peer on this machine, drives them from other processes, and says what
 * each operation costs. Not a test: nothing fails because something is slow; wrong answers fail it.
 *
 *     main ─> systems: compact, split, peer (oidc-provider), bare handlers; stores: Postgres, Redis
 *       └─> measure/ ─> driver/ (another process) ─> operations/ ──> a system, in turns of a second
 *             └─> CPU time per operation, with a yardstick ─> row ─> table, targets
 *     growth/, overload/, rest   the other questions
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { restingPopulation, usualPopulation } from './declared-state.ts';
import { describeGrowth, growth, manyIssuers, manyTenants } from './growth/growth.ts';
import { measure, measureRest, type Bench } from './measure/measure.ts';
import { residentMemory } from './measure/processor-time.ts';
import type { Result, Row, Start } from './measure/row.ts';
import { Yardstick } from './measure/yardstick.ts';
import { overload } from './overload/overload.ts';
import { parseOptions, usage, UsageError, type Options } from './options.ts';
import { describeRest, rest } from './rest.ts';
import { startStores } from './stores.ts';
import {
  applyState,
  startBare,
  startPeer,
  startTessera,
  type System,
  type SystemOptions,
} from './systems.ts';
import { table } from './table.ts';
import { targets } from './targets.ts';

const started = performance.now();

/** Prints progress to standard error: standard output is for the result alone. */
function say(text: string): void {
  process.stderr.write(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);
}

async function main(options: Options): Promise<number> {
  const loadBefore = loadavg()[0] ?? 0;
  const directory = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  say('starting Postgres and Redis');
  const stores = await startStores();
  const yardstick = await Yardstick.start();
  const bench: Bench = { stores, yardstick, duration: options.duration, say };
  try {
    const seed = randomBytes(16).toString('hex');
    const systems: SystemOptions = { stores, seed, directory, population: usualPopulation };
    if (options.growth) return await growthOfSystems(options, bench, systems);
    if (options.rest !== undefined) return await restOfSystems(options.rest, options, systems);
    say('applying 100 tenants, 10,000 applications and 10,000 people');
    await applyState(systems);
    if (options.overload !== undefined) return await overloadSystems(options.overload, options, systems);
    const { starts, rows } = await measureSystems(options, bench, systems);
    const result: Result = {
      at: new Date().toISOString(),
      machine: { processor: cpus()[0]?.model ?? '', cores: cpus().length, node: process.versions.node },
      loadBefore,
      duration: options.duration,
      starts,
      rows,
    };
    process.stdout.write(`${table(result)}\n${targets(result)}`);
    if (options.json !== undefined)
      await writeFile(options.json, `${JSON.stringify(result, undefined, 2)}\n`);
    return result.rows.some(({ errors }) => errors > 0) ? 1 : 0;
  } finally {
    yardstick.stop();
    await stores.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function growthOfSystems(options: Options, bench: Bench, systems: SystemOptions): Promise<number> {
  let errors = 0;
  for (const topology of options.topologies) {
    for (const sizes of [manyTenants, manyIssuers]) {
      const result = await growth(topology, options.only, bench, systems, sizes);
      errors += result.grown.reduce((sum, { small, large }) => sum + small.errors + large.errors, 0);
      process.stdout.write(describeGrowth(result));
    }
  }
  return errors > 0 ? 1 : 0;
}

async function overloadSystems(seconds: number, options: Options, systems: SystemOptions): Promise<number> {
  const { beside } = options;
  let failed = false;
  for (const topology of options.topologies) {
    const running: Record<string, System> = {};
    try {
      say(`starting ${topology}`);
      running[topology] = await startTessera(topology, systems);
      if (beside !== undefined)
        running[`${topology} of ${beside}`] = await startTessera(topology, { ...systems, root: beside });
      await overload(running, seconds, (line, isWrong) => {
        failed ||= isWrong;
        process.stdout.write(line);
      });
    } finally {
      await Promise.all(Object.values(running).map((system) => system.stop()));
    }
  }
  return failed ? 1 : 0;
}

async function restOfSystems(seconds: number, options: Options, systems: SystemOptions): Promise<number> {
  const resting: SystemOptions = { ...systems, population: restingPopulation };
  await applyState(resting);
  for (const topology of options.topologies) {
    say(`starting ${topology}`);
    const system = await startTessera(topology, resting);
    try {
      process.stdout.write(describeRest(await rest(system, topology, seconds, systems.stores)));
    } finally {
      await system.stop();
    }
  }
  return 0;
}

/** All systems run at once, so that each operation can be measured on them in turn. */
async function measureSystems(
  options: Options,
  bench: Bench,
  systems: SystemOptions,
): Promise<{ starts: Start[]; rows: Row[] }> {
  const names = [...options.topologies, ...(options.peer ? (['oidc-provider'] as const) : [])];
  const running: System[] = [];
  try {
    const starts: Start[] = [];
    for (const name of names) {
      bench.say(`starting ${name}`);
      const system = await (name === 'oidc-provider' ? startPeer(systems) : startTessera(name, systems));
      running.push(system);
      await sleep(1000);
      starts.push({ system: name, startMs: system.startMs, memory: memoryOf(system) });
    }
    running.push(await startBare(systems));
    const atRest = await measureRest(bench);
    const rows: Row[] = [];
    for (const operation of options.only) {
      rows.push(...(await measure(operation, running, atRest, bench)));
    }
    return { starts, rows };
  } finally {
    await Promise.all(running.map((system) => system.stop()));
  }
}

function memoryOf({ processes }: System): Start['memory'] {
  return Object.fromEntries(processes.map(({ name, pid }) => [name, residentMemory(pid)]));
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usage);
  else process.exitCode = await main(options);
} catch (error) {
  const text =
    error instanceof UsageError
      ? `${error.message}\n\n${usage}`
      : String(error instanceof Error ? error.stack : error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
