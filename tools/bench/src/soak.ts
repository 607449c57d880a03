import { Driver } from './driver/driver.ts';
import type { OpenLoopResult } from './driver/messages.ts';
import { isMeasurable } from './measure/measure.ts';
import { median } from './measure/median.ts';
import { residentMemory } from './measure/processor-time.ts';
import type { OperationName } from './operations/names.ts';
import type { System } from './systems.ts';

/** Share of each operation's rate, so that all together do not saturate a machine with two cores. */
const rateShare = 0.15;
const roundSeconds = 200;
const sampleSeconds = 5;
/** Requests to prepare for a round, in seconds at the full rate: more than a round uses at its share of the rate. */
const preparedSeconds = 2;

export interface Soak {
  readonly system: string;
  /** Duration of the mixed load, without its preparation. */
  readonly seconds: number;
  readonly operations: number;
  readonly errors: number;
  /** Resident MiB of all processes, every few seconds of the load. */
  readonly memory: readonly number[];
}

/**
 * All operations at once, in rounds with new clients, sessions and tokens each. A leak shows as growing memory.
 */
export async function soak(
  system: System,
  name: string,
  { seconds, only }: { readonly seconds: number; readonly only: readonly OperationName[] },
  say: (text: string) => void,
): Promise<Soak> {
  const chosen = only.filter((operation) => isMeasurable(operation, system));
  const memory: number[] = [];
  let operations = 0;
  let errors = 0;
  let mixed = 0;
  while (mixed < seconds) {
    const length = Math.min(roundSeconds, seconds - mixed);
    for (const result of await round(system, chosen, { seconds: length, share: rateShare, memory })) {
      operations += result.operations;
      errors += result.errors;
    }
    mixed += length;
    say(`${name}: ${operations} operations, ${errors} errors, ${memory.at(-1)?.toFixed(0)} MiB resident`);
  }
  return { system: name, seconds: mixed, operations, errors, memory };
}

/** Prepares the operations, then performs them all at once at a share of their rates; adds samples of the memory. */
export async function round(
  system: System,
  chosen: readonly OperationName[],
  { seconds, share, memory }: { readonly seconds: number; readonly share: number; readonly memory: number[] },
): Promise<OpenLoopResult[]> {
  const sample = () => memory.push(system.processes.reduce((sum, { pid }) => sum + residentMemory(pid), 0));
  let sampling: NodeJS.Timeout | undefined;
  const drivers = chosen.map((operation) => ({ operation, driver: new Driver() }));
  try {
    for (const { operation, driver } of drivers)
      await driver.prepare(operation, system.target, preparedSeconds);
    sampling = setInterval(sample, sampleSeconds * 1000);
    return await Promise.all(drivers.map(({ driver }) => driver.openLoop(seconds, share)));
  } finally {
    clearInterval(sampling);
    for (const { driver } of drivers) driver.stop();
  }
}

export function describeSoak({ system, seconds, operations, errors, memory }: Soak): string {
  const third = Math.max(1, Math.floor(memory.length / 3));
  const thirds = [memory.slice(0, third), memory.slice(third, -third), memory.slice(-third)];
  const described = thirds.map(
    (part) => `${median(part).toFixed(0)} (${Math.max(...part).toFixed(0)} at most)`,
  );
  return (
    `${system}: ${operations} operations in ${(seconds / 60).toFixed(1)} min, ${errors} errors; ` +
    `MiB resident in the first, middle and last third: ${described.join(', ')}\n`
  );
}
