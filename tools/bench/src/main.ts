/**
 * `npm run bench`: starts compact, split and a peer on this machine, drives them from other processes, and says what
 * each operation costs. Not a test: nothing fails because something is slow; wrong answers fail it.
 *
 *     main ─> systems: compact, split, peer (oidc-provider), bare handlers; stores: Postgres, Redis
 *       └─> measure/ ─> driver/ (another process) ─> operations/ ──> a system, in turns of a second
 *             └─> CPU time per operation, with a yardstick ─> row ─> table, targets
 *     growth, overload, rest, records/   the other questions
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { restingPopulation, usualPopulation } from './declared-state.ts';
import { growth } from './growth.ts';
import { measure, measureRest, type Bench } from './measure/measure.ts';
import { residentMemory } from './measure/processor-time.ts';
import type { Result, Row, Start } from './measure/row.ts';
import { parseOptions, usage, UsageError, type Options } from './options.ts';
import { overload } from './overload.ts';
import { recordsAtScale } from './records/records-at-scale.ts';
import { rest } from './rest.ts';
import { startStores } from './stores.ts';
import { applyState, startOther, startTessera, type System, type SystemOptions } from './systems.ts';
import { table } from './table.ts';
import { targets } from './targets.ts';

const started = performance.now();

/** Prints progress to standard error: standard output is for the result alone. */
function say(text: string): void {
  process.stderr.write(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);
}

async function main(options: Options): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  say('starting Postgres and Redis');
  const stores = await startStores();
  try {
    const population = options.rest === undefined ? usualPopulation : restingPopulation;
    const bench: Bench = { stores, duration: options.duration, say };
    const systems: SystemOptions = { stores, seed: randomBytes(16).toString('hex'), directory, population };
    if (options.growth) return await growthOfSystems(options, bench, systems);
    if (options.records)
      return await recordsAtScale(systems, say, (line) => process.stdout.write(`${line}\n`));
    const { tenants, applications, people } = population;
    say(`declaring ${tenants} tenants, ${tenants * applications} applications, ${tenants * people} people`);
    await applyState(systems);
    if (options.rest !== undefined) return await restOfSystems(options.rest, options, systems);
    if (options.overload !== undefined) return await overloadSystems(options.overload, options, systems);
    return await compareSystems(options, bench, systems);
  } finally {
    await stores.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function growthOfSystems(options: Options, bench: Bench, systems: SystemOptions): Promise<number> {
  let errors = 0;
  for (const topology of options.topologies) errors += await growth(topology, options.only, bench, systems);
  return errors > 0 ? 1 : 0;
}

async function overloadSystems(seconds: number, options: Options, systems: SystemOptions): Promise<number> {
  let failed = false;
  const roots = options.beside === undefined ? [{}] : [{}, { root: options.beside }];
  for (const topology of options.topologies)
    await withSystems(
      roots.map((root) => () => startTessera(topology, { ...systems, ...root })),
      async (running) =>
        overload(running, seconds, (line, isWrong) => {
          failed ||= isWrong;
          process.stdout.write(line);
        }),
    );
  return failed ? 1 : 0;
}

async function restOfSystems(seconds: number, options: Options, systems: SystemOptions): Promise<number> {
  for (const topology of options.topologies)
    await withSystems([() => startTessera(topology, systems)], async (running) => {
      for (const system of running) process.stdout.write(await rest(system, seconds, systems.stores));
    });
  return 0;
}

/** All systems run at once, so that each operation can be measured on them in turn. */
async function compareSystems(options: Options, bench: Bench, systems: SystemOptions): Promise<number> {
  const loadBefore = loadavg()[0] ?? 0;
  const starts: Start[] = [];
  const noted = (start: () => Promise<System>) => async (): Promise<System> => {
    const system = await start();
    await sleep(1000);
    const memory = Object.fromEntries(system.processes.map(({ name, pid }) => [name, residentMemory(pid)]));
    starts.push({ system: system.name, startMs: system.startMs, memory });
    return system;
  };
  const all = [
    ...options.topologies.map((topology) => noted(() => startTessera(topology, systems))),
    ...(options.peer ? [noted(() => startOther('peer', systems))] : []),
    () => startOther('bare', systems),
  ];
  return withSystems(all, async (running) => {
    const atRest = await measureRest(bench);
    const rows: Row[] = [];
    for (const operation of options.only) rows.push(...(await measure(operation, running, atRest, bench)));
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
    return rows.some(({ errors }) => errors > 0) ? 1 : 0;
  });
}

/** Starts systems one after another, and stops them at the end of `work`. */
async function withSystems<T>(
  starts: readonly (() => Promise<System>)[],
  work: (systems: readonly System[]) => Promise<T>,
): Promise<T> {
  const running: System[] = [];
  try {
    for (const start of starts) {
      running.push(await start());
      say(`${running.at(-1)?.name} is ready`);
    }
    return await work(running);
  } finally {
    await Promise.all(running.map((system) => system.stop()));
  }
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
