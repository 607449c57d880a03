import { setTimeout as sleep } from 'node:timers/promises';
import { Driver } from '../driver/driver.ts';
import { warmUpRounds, warmUpShare } from '../operations/operation.ts';
import { operationNamed, type OperationName } from '../operations/index.ts';
import type { Stores, StoreWork } from '../stores.ts';
import type { System } from '../systems.ts';
import { median } from './median.ts';
import { compilingTime, processorTime } from './processor-time.ts';
import type { Row } from './row.ts';
import type { Yardstick } from './yardstick.ts';
import type { YardstickReport } from './yardstick-process.ts';

export interface Bench {
  readonly stores: Stores;
  readonly yardstick: Yardstick;
  /** Seconds of each measurement. */
  readonly duration: number;
  say(text: string): void;
}

interface Usage {
  readonly at: number;
  readonly processes: readonly number[];
  readonly work: StoreWork;
}

/** What the stores do per second for idle systems. */
export type AtRest = Pick<StoreWork, 'statements' | 'commands'>;

/** Length of a warm-up round, and the minimum and maximum number of rounds. */
const warmUp = { seconds: 2, share: warmUpShare, least: 3, most: warmUpRounds };
/** Share of the processor time that compilation may take once hot code is compiled. */
const restOfCompiling = 0.02;
const restSeconds = 4;
/** Time for batched writes of this system, such as audit rows every 250 ms, to finish before the next one is measured. */
const restOfWorkMs = 300;

async function usage(system: System, stores: Stores): Promise<Usage> {
  const processes = system.processes.map(({ pid }) => processorTime([pid]));
  return { at: performance.now(), processes, work: await stores.work() };
}

export async function measureRest({ stores }: Bench): Promise<AtRest> {
  await sleep(1000);
  const [began, before] = [performance.now(), await stores.work()];
  await sleep(restSeconds * 1000);
  const after = await stores.work();
  const seconds = (performance.now() - began) / 1000;
  return {
    statements: (after.statements - before.statements) / seconds,
    commands: (after.commands - before.commands) / seconds,
  };
}

/** An operation prepared for measurement on one system. */
interface Candidate {
  readonly system: System;
  readonly kind: Row['system'];
  readonly driver: Driver;
  readonly slices: Slice[];
  errors: number;
}

/**
 * One operation on all systems that have it: prepare and warm up, then the loops that are charged, a second on each system in
 * turn. Of the slices of a system the median counts: on a machine that is
 * shared, a bad second is one of several, and hits every system alike.
 */
export async function measure(
  name: OperationName,
  systems: readonly System[],
  atRest: AtRest,
  bench: Bench,
): Promise<Row[]> {
  const { duration, say } = bench;
  const candidates: Candidate[] = [];
  try {
    for (const system of systems.filter((one) => isMeasurable(name, one))) {
      const kind = kindOf(system);
      say(`${kind} ${name}: preparing`);
      const driver = new Driver();
      candidates.push({ system, kind, driver, slices: [], errors: 0 });
      await driver.prepare(name, system.target, duration);
    }
    say(`${name}: warming up`);
    await warmUpInTurn(candidates);
    say(`${name}: measuring`);
    for (let second = 0; second < duration; second += 1) {
      for (const { system, driver, slices } of candidates) {
        slices.push(await measureSlice(name, system, driver, bench));
      }
    }
    return candidates.map((candidate) => rowOf(name, candidate, atRest));
  } finally {
    for (const { driver } of candidates) driver.stop();
  }
}

/** What one second of the loop cost. */
interface Slice extends YardstickReport {
  readonly operations: number;
  readonly errors: number;
  readonly seconds: number;
  /** Seconds, including what comes before and after the loop. */
  readonly elapsed: number;
  /** Microseconds of each process. */
  readonly processes: readonly number[];
  readonly work: StoreWork;
}

async function measureSlice(
  name: OperationName,
  system: System,
  driver: Driver,
  { stores, yardstick, duration }: Bench,
): Promise<Slice> {
  const before = await usage(system, stores);
  const [loop, physical] = await yardstick.during(name === 'sign-in', () => driver.loop(1, 1 / duration));
  await sleep(restOfWorkMs);
  const after = await usage(system, stores);
  return {
    ...loop,
    ...physical,
    elapsed: (after.at - before.at) / 1000,
    processes: after.processes.map((micros, index) => micros - (before.processes[index] ?? 0)),
    work: {
      directoryReads: after.work.directoryReads - before.work.directoryReads,
      statements: after.work.statements - before.work.statements,
      commands: after.work.commands - before.work.commands,
      postgres: after.work.postgres - before.work.postgres,
      redis: after.work.redis - before.work.redis,
    },
  };
}

function rowOf(operation: OperationName, { system, kind, slices, errors }: Candidate, atRest: AtRest): Row {
  const operations = total(slices, (slice) => slice.operations);
  const elapsed = total(slices, (slice) => slice.elapsed);
  const store = (what: keyof StoreWork, restPerSecond = 0): number =>
    Math.max(0, total(slices, ({ work }) => work[what]) - restPerSecond * elapsed) / operations;
  const seconds = slices.map((slice) => ({
    micros: total(slice.processes, (micros) => micros) / slice.operations,
    physical: slice.passwordHash > 0 ? slice.passwordHash : slice.signature,
  }));
  const costOf = (index: number): number =>
    median(slices.map((slice) => (slice.processes[index] ?? 0) / slice.operations));
  return {
    operation,
    system: kind,
    operations,
    errors: errors + total(slices, (slice) => slice.errors),
    micros: median(seconds.map(({ micros }) => micros)),
    seconds,
    processes: Object.fromEntries(system.processes.map(({ name }, index) => [name, costOf(index)])),
    signature: median(slices.map(({ signature }) => signature)),
    passwordHash: median(slices.map(({ passwordHash }) => passwordHash)),
    postgres: store('postgres'),
    redis: store('redis'),
    statements: store('statements', atRest.statements),
    rereads: store('directoryReads'),
    commands: store('commands', atRest.commands),
    perSecond: operations / total(slices, (slice) => slice.seconds),
  };
}

function total<T>(of: readonly T[], value: (one: T) => number): number {
  return of.reduce((sum, one) => sum + value(one), 0);
}

/**
 * Until the code that runs often is compiled on each system as well as it will be. In turn, like the measuring: a process
 * that rests for half a minute is cold again, and costs up to 1.8 of what it did.
 */
async function warmUpInTurn(candidates: readonly Candidate[]): Promise<void> {
  for (let round = 1; round <= warmUp.most; round += 1) {
    let stillCompiling = false;
    for (const candidate of candidates) {
      const pids = candidate.system.processes.map(({ pid }) => pid);
      const [compiling, all] = [compilingTime(pids), processorTime(pids)];
      candidate.errors += (await candidate.driver.loop(warmUp.seconds, warmUp.share)).errors;
      const share = (compilingTime(pids) - compiling) / (processorTime(pids) - all);
      stillCompiling ||= share >= restOfCompiling;
    }
    if (round >= warmUp.least && !stillCompiling) return;
  }
}

function kindOf({ target, processes }: System): Row['system'] {
  if (target.kind === 'peer') return 'oidc-provider';
  if (target.kind === 'bare') return 'bare';
  return processes.length === 1 ? 'compact' : 'split';
}

export const isMeasurable = (name: OperationName, system: System): boolean => {
  const operation = operationNamed(name);
  if (system.target.kind === 'peer') return operation.peers !== undefined;
  if (system.target.kind === 'bare') return operation.bare !== undefined;
  return operation.splitOnly !== true || system.target.calls !== undefined;
};
