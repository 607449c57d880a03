import { setTimeout as sleep } from 'node:timers/promises';
import { proportionalMemory, residentMemory } from './measure/processor-time.ts';
import { usageDuring } from './measure/usage.ts';
import type { Stores } from './stores.ts';
import type { System } from './systems.ts';

/** Before the measurement: what a start leaves to do, and the first collections of garbage. */
const settleSeconds = 15;

/** What a system without requests costs, in words. */
export async function rest({ name, processes }: System, seconds: number, stores: Stores): Promise<string> {
  await sleep(settleSeconds * 1000);
  const [, usage] = await usageDuring(() => sleep(seconds * 1000), stores, processes);
  const each = processes.map((process, index) => ({
    name: process.name,
    // Milliseconds of CPU a second; MiB.
    processor: (usage.processes[index] ?? 0) / 1000 / usage.seconds,
    resident: residentMemory(process.pid),
    proportional: proportionalMemory(process.pid),
  }));
  type Part = (typeof each)[number];
  const sum = (of: (part: Part) => number) => each.reduce((total, part) => total + of(part), 0);
  const all: Part = {
    name,
    processor: sum(({ processor }) => processor),
    resident: sum(({ resident }) => resident),
    proportional: sum(({ proportional }) => proportional),
  };
  const { statements, commands } = usage.work;
  return [
    `${describe(all)}; ${(statements / usage.seconds).toFixed(1)} statements and ` +
      `${(commands / usage.seconds).toFixed(1)} Redis commands a second\n`,
    ...(each.length === 1 ? [] : each.map((part) => `  ${describe(part)}\n`)),
  ].join('');

  function describe({ name: of, processor, resident, proportional }: Part): string {
    return `${of}: ${processor.toFixed(1)} ms of CPU a second, ${resident.toFixed(0)} MiB resident, ${proportional.toFixed(0)} MiB proportional`;
  }
}
