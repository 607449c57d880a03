import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './measure/measure.ts';
import { proportionalMemory, residentMemory } from './processor-time.ts';
import { usageDuring } from './measure/usage.ts';
import type { Topology } from './options.ts';
import { startTessera, withSystems, type System, type SystemOptions } from './systems.ts';

/** Before the measurement: what a start leaves to do, and the first collections of garbage. */
const settleSeconds = 15;

/** What systems without requests cost, one after another. */
export async function rest(
  topologies: readonly Topology[],
  seconds: number,
  bench: Bench,
  options: SystemOptions,
): Promise<boolean> {
  for (const topology of topologies)
    await withSystems([() => startTessera(topology, options)], async ([system]) => {
      if (system !== undefined) await restOf(system, seconds, bench);
    });
  return false;
}

async function restOf({ name, processes }: System, seconds: number, { stores, print }: Bench): Promise<void> {
  await sleep(settleSeconds * 1000);
  const [, usage] = await usageDuring(() => sleep(seconds * 1000), stores, processes);
  const each = processes.map(({ pid }, index) => [
    (usage.processes[index] ?? 0) / 1000 / usage.seconds,
    residentMemory(pid),
    proportionalMemory(pid),
  ]);
  const describe = (figures: readonly (readonly number[])[]): string => {
    const [processor, resident, proportional] = [0, 1, 2].map((at) =>
      figures.reduce((sum, of) => sum + (of[at] ?? 0), 0).toFixed(at === 0 ? 1 : 0),
    );
    return `${processor} ms of CPU a second, ${resident} MiB resident, ${proportional} MiB proportional`;
  };
  const { statements, commands } = usage.work;
  const [sql, redis] = [statements, commands].map((count) => (count / usage.seconds).toFixed(1));
  print(`${name}: ${describe(each)}; ${sql} statements and ${redis} Redis commands a second`);
  if (each.length > 1)
    processes.forEach((process, index) =>
      print(`  ${process.name}: ${describe(each.slice(index, index + 1))}`),
    );
}
