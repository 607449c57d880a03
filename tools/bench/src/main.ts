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
import { besideTable } from './beside.ts';
import { usualPopulation } from './declared-state.ts';
import { growth } from './growth.ts';
import { measure, measureRest, type Bench } from './measure/measure.ts';
import { residentMemory } from './processor-time.ts';
import type { Result, Row, Start } from './measure/row.ts';
import { parseOptions, usage, type Options } from './options.ts';
import { overload } from './overload.ts';
import { recordsAtScale } from './records/records-at-scale.ts';
import { rest } from './rest.ts';
import { startStores } from './stores.ts';
import {
  applyState,
  startOther,
  startTessera,
  withSystems,
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

/** Resolves with whether something was wrong. */
async function main(options: Options): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  say('starting Postgres and Redis');
  const stores = await startStores();
  const bench: Bench = {
    stores,
    duration: options.duration,
    say,
    print: (line) => void process.stdout.write(`${line}\n`),
  };
  const seed = randomBytes(16).toString('hex');
  const systems: SystemOptions = { stores, seed, directory, population: usualPopulation, say };
  try {
    if (options.records) return await recordsAtScale(systems, bench);
    if (options.growth) return await growth(options, bench, systems);
    await applyState(systems);
    if (options.rest !== undefined) return await rest(options.topologies, options.rest, bench, systems);
    if (options.overload !== undefined) return await overload(options, options.overload, bench, systems);
    return await compareSystems(options, bench, systems);
  } finally {
    await stores.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** All systems run at once, so that each operation can be measured on them in turn. */
async function compareSystems(options: Options, bench: Bench, systems: SystemOptions): Promise<boolean> {
  const loadBefore = loadavg()[0] ?? 0;
  const starts: Start[] = [];
  const ours = options.topologies.map((topology) => () => startTessera(topology, systems));
  const others = await startsBeside(options, systems);
  const peer = options['no-peer'] ? [] : [() => startOther('peer', systems)];
  const noted = [...ours, ...others, ...peer].map((start) => async () => {
    const system = await start();
    await sleep(1000);
    const memory = Object.fromEntries(system.processes.map(({ name, pid }) => [name, residentMemory(pid)]));
    starts.push({ system: system.name, startMs: system.startMs, memory });
    return system;
  });
  return withSystems([...noted, () => startOther('bare', systems)], async (running) => {
    const atRest = await measureRest(bench);
    const rows: Row[] = [];
    let hasFailed = false;
    for (const operation of options.only)
      try {
        rows.push(...(await measure(operation, running, atRest, bench)));
      } catch (error) {
        // What was measured before is not lost with it.
        hasFailed = true;
        say(`${operation}: ${String(error)}`);
      }
    const result: Result = {
      at: new Date().toISOString(),
      machine: { processor: cpus()[0]?.model ?? '', cores: cpus().length, node: process.versions.node },
      loadBefore,
      duration: options.duration,
      starts,
      rows,
    };
    bench.print(`${table(result)}\n${targets(result)}`);
    for (const root of options.beside) bench.print(besideTable(result, root, options.topologies));
    if (options.json !== undefined)
      await writeFile(options.json, `${JSON.stringify(result, undefined, 2)}\n`);
    return hasFailed || rows.some(({ errors }) => errors > 0);
  });
}

/** Other checkouts have stores of their own, as their schemas differ. */
async function startsBeside({ beside, topologies }: Options, systems: SystemOptions) {
  const starts: (() => Promise<System>)[] = [];
  for (const root of beside) {
    const population = { ...systems.population, recent: false };
    const ofOther: SystemOptions = { ...systems, stores: await systems.stores.apart(), population, root };
    await applyState(ofOther);
    starts.push(...topologies.map((topology) => () => startTessera(topology, ofOther)));
  }
  return starts;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(usage);
  else process.exitCode = (await main(options)) ? 1 : 0;
} catch (error) {
  process.stderr.write(
    `${error instanceof Error ? error.stack : String(error)}\n\nnpm run bench -- --help\n`,
  );
  process.exitCode = 1;
}
