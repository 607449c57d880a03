import { Driver } from './driver/driver.ts';
import { isMeasurable } from './measure/measure.ts';
import { median } from './measure/median.ts';
import { residentMemory } from './measure/processor-time.ts';
import type { OperationName } from './operations/names.ts';
import type { System } from './systems.ts';

/** Of each operation's own rate, so that all of them together leave a machine of two cores some air. */
const rateShare = 0.15;
const roundSeconds = 20;
/** What is prepared for a round; more than it uses. */
const preparedSeconds = 5;

export interface Soak {
  readonly system: string;
  readonly seconds: number;
  readonly operations: number;
  readonly errors: number;
  /** Resident MiB of all processes after each round. */
  readonly memory: readonly number[];
}

/**
 * All operations at once, round after round, each with new clients, sessions and tokens. What is kept although it is over shows
 * as memory that grows.
 */
export async function soak(
  system: System,
  name: string,
  { seconds, only }: { readonly seconds: number; readonly only: readonly OperationName[] },
  say: (text: string) => void,
): Promise<Soak> {
  const chosen = only.filter((operation) => isMeasurable(operation, system));
  const started = performance.now();
  const memory: number[] = [];
  let operations = 0;
  let errors = 0;
  const elapsed = (): number => (performance.now() - started) / 1000;
  while (elapsed() < seconds) {
    for (const result of await round(system, chosen)) {
      operations += result.operations;
      errors += result.errors;
    }
    memory.push(system.processes.reduce((sum, { pid }) => sum + residentMemory(pid), 0));
    say(`${name}: ${operations} operations, ${errors} errors, ${memory.at(-1)?.toFixed(0)} MiB resident`);
  }
  return { system: name, seconds: elapsed(), operations, errors, memory };
}

async function round(system: System, chosen: readonly OperationName[]) {
  const drivers = chosen.map((operation) => ({ operation, driver: new Driver() }));
  try {
    for (const { operation, driver } of drivers)
      await driver.prepare(operation, system.target, preparedSeconds);
    return await Promise.all(drivers.map(({ driver }) => driver.openLoop(roundSeconds, rateShare)));
  } finally {
    for (const { driver } of drivers) driver.stop();
  }
}

export function describeSoak({ system, seconds, operations, errors, memory }: Soak): string {
  const third = Math.max(1, Math.floor(memory.length / 3));
  const [early, late] = [median(memory.slice(third, 2 * third)), median(memory.slice(-third))];
  return (
    `${system}: ${operations} operations in ${(seconds / 60).toFixed(1)} min, ${errors} errors; ` +
    `resident ${early.toFixed(0)} MiB in the middle third, ${late.toFixed(0)} MiB in the last\n`
  );
}
