import { setTimeout as sleep } from 'node:timers/promises';
import { Driver, type LoopResult } from '../driver/driver.ts';
import { operationNamed, type OperationName } from '../operations/index.ts';
import { warmUp } from '../operations/operation.ts';
import type { Stores, StoreWork } from '../stores.ts';
import type { System } from '../systems.ts';
import { median, type Row } from './row.ts';
import { usageDuring, type Usage } from './usage.ts';
import { withYardstick } from './yardstick.ts';

export interface Bench {
  readonly stores: Stores;
  /** Seconds of each measurement. */
  readonly duration: number;
  /** Tells of the progress. */
  say(text: string): void;
  /** Prints a line of the result. */
  print(line: string): void;
}

const restSeconds = 4;
/**
 * Time for batched writes of this system, such as audit rows every 250 ms, to finish before the next one is measured.
 */
const restOfWorkMs = 300;

/** What the stores do for idle systems. */
export async function measureRest({ stores }: Bench): Promise<Usage> {
  await sleep(1000);
  const [, usage] = await usageDuring(() => sleep(restSeconds * 1000), stores);
  return usage;
}

/** What one second of the loop cost. */
type Slice = LoopResult & { readonly unit: number; readonly usage: Usage };

/** An operation prepared for measurement on one system. */
interface Candidate {
  readonly system: System;
  readonly driver: Driver;
  readonly slices: Slice[];
  errors: number;
}

/**
 * One operation on all systems that have it: prepare and warm up, then the loops that are charged, a second on each
 * system in turn. Of the slices of a system the median counts: on a machine that is shared, a bad second is one of
 * several, and hits every system alike.
 */
export async function measure(
  name: OperationName,
  systems: readonly System[],
  atRest: Usage,
  bench: Bench,
): Promise<Row[]> {
  const { duration, say } = bench;
  const candidates: Candidate[] = [];
  try {
    for (const system of systems.filter((one) => isMeasurable(name, one))) {
      say(`${system.name} ${name}: preparing`);
      const driver = new Driver();
      candidates.push({ system, driver, slices: [], errors: 0 });
      await driver.prepare(name, system.target, duration);
    }
    say(`${name}: warming up`);
    // In turn, like the measuring: a process that rests for half a minute is cold again, and costs up to 1.8 of what it
    // did.
    for (let round = 0; round < warmUp.rounds; round += 1)
      for (const candidate of candidates)
        candidate.errors += (await candidate.driver.loop(warmUp.seconds, warmUp.share)).errors;
    say(`${name}: measuring`);
    for (let second = 0; second < duration; second += 1)
      for (const { system, driver, slices } of candidates)
        slices.push(await measureSlice(name, system, driver, bench));
    return candidates.map((candidate) => rowOf(name, candidate, atRest));
  } finally {
    for (const { driver } of candidates) driver.stop();
  }
}

async function measureSlice(
  name: OperationName,
  { processes }: System,
  driver: Driver,
  { stores, duration }: Bench,
): Promise<Slice> {
  // Beside other systems a process rests for some seconds, and cools down.
  await driver.loop(warmUp.seconds, warmUp.shareBefore / duration);
  const second = async () => {
    const loop = await withYardstick(name === 'sign-in' ? 'password hash' : 'signature', () =>
      driver.loop(1, 1 / duration),
    );
    await sleep(restOfWorkMs);
    return loop;
  };
  const [[loop, unit], usage] = await usageDuring(second, stores, processes);
  return { ...loop, unit, usage };
}

function rowOf(operation: OperationName, { system, slices, errors }: Candidate, atRest: Usage): Row {
  const operations = total(slices, (slice) => slice.operations);
  const elapsed = total(slices, ({ usage }) => usage.seconds);
  const store = (what: keyof StoreWork): number =>
    total(slices, ({ usage }) => usage.work[what]) / operations;
  /** Without what is done for idle systems. */
  const own = (what: 'statements' | 'commands'): number =>
    Math.max(0, store(what) - ((atRest.work[what] / atRest.seconds) * elapsed) / operations);
  const seconds = slices.map(({ usage, operations: done, unit }) => ({
    micros: total(usage.processes, (micros) => micros) / done,
    unit,
  }));
  return {
    operation,
    system: system.name,
    operations,
    errors: errors + total(slices, (slice) => slice.errors),
    micros: median(seconds.map(({ micros }) => micros)),
    seconds,
    unit: median(seconds.map(({ unit }) => unit)),
    postgres: store('postgres'),
    redis: store('redis'),
    statements: own('statements'),
    rereads: store('directoryReads'),
    commands: own('commands'),
    perSecond: operations / total(slices, (slice) => slice.seconds),
  };
}

function total<T>(of: readonly T[], value: (one: T) => number): number {
  return of.reduce((sum, one) => sum + value(one), 0);
}

function isMeasurable(name: OperationName, { target }: System): boolean {
  const { peer, bare, splitOnly, recent } = operationNamed(name);
  if (target.kind === 'peer') return peer === true;
  if (target.kind === 'bare') return bare !== undefined;
  if (recent === true && target.population.recent !== true) return false;
  return splitOnly !== true || target.calls !== undefined;
}
