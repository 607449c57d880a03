import { setTimeout as sleep } from 'node:timers/promises';
import { processorTime, proportionalMemory, residentMemory } from './measure/processor-time.ts';
import type { Stores } from './stores.ts';
import type { System } from './systems.ts';

/** Before the measurement: what a start leaves to do, and the first collections of garbage. */
const settleSeconds = 15;

interface ProcessAtRest {
  readonly name: string;
  /** Milliseconds of processor time a second. */
  readonly processor: number;
  /** MiB. */
  readonly resident: number;
  readonly proportional: number;
}

export interface Rest {
  readonly system: string;
  readonly processes: readonly ProcessAtRest[];
  /** SQL statements and Redis commands a second. */
  readonly statements: number;
  readonly commands: number;
}

/** What a system without requests costs. */
export async function rest(system: System, name: string, seconds: number, stores: Stores): Promise<Rest> {
  await sleep(settleSeconds * 1000);
  const times = () => system.processes.map(({ pid }) => processorTime([pid]));
  const [began, before, workBefore] = [performance.now(), times(), await stores.work()];
  await sleep(seconds * 1000);
  const [after, work] = [times(), await stores.work()];
  const elapsed = (performance.now() - began) / 1000;
  return {
    system: name,
    processes: system.processes.map((process, index) => ({
      name: process.name,
      processor: ((after[index] ?? 0) - (before[index] ?? 0)) / 1000 / elapsed,
      resident: residentMemory(process.pid),
      proportional: proportionalMemory(process.pid),
    })),
    statements: (work.statements - workBefore.statements) / elapsed,
    commands: (work.commands - workBefore.commands) / elapsed,
  };
}

export function describeRest({ system, processes, statements, commands }: Rest): string {
  const sum = (of: (process: ProcessAtRest) => number) =>
    processes.reduce((total, process) => total + of(process), 0);
  const one = (name: string, processor: number, resident: number, proportional: number): string =>
    `${name}: ${processor.toFixed(1)} ms of CPU a second, ${resident.toFixed(0)} MiB resident, ${proportional.toFixed(0)} MiB proportional`;
  const total = one(
    system,
    sum(({ processor }) => processor),
    sum(({ resident }) => resident),
    sum(({ proportional }) => proportional),
  );
  const parts =
    processes.length === 1
      ? []
      : processes.map(
          ({ name, processor, resident, proportional }) =>
            `  ${one(name, processor, resident, proportional)}\n`,
        );
  return `${total}; ${statements.toFixed(1)} statements and ${commands.toFixed(1)} Redis commands a second\n${parts.join('')}`;
}
