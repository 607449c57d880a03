import { setTimeout as sleep } from 'node:timers/promises';
import { Driver } from '../driver/driver.ts';
import type { ClosedLoopResult } from '../driver/messages.ts';
import { warmUpRounds, warmUpShare } from '../operations/operation.ts';
import { operationNamed } from '../operations/index.ts';
import type { OperationName } from '../operations/names.ts';
import type { Stores, StoreWork } from '../stores.ts';
import type { System } from '../systems.ts';
import { compilingTime, processorTime } from './processor-time.ts';
import type { Row } from './row.ts';
import type { Yardstick } from './yardstick.ts';

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

/** What the stores do for systems that nobody uses, per second. */
export type AtRest = Pick<StoreWork, 'statements' | 'commands'>;

/** One round of warming up, and how many there are at least and at most. */
const warmUp = { seconds: 2, share: warmUpShare, least: 2, most: warmUpRounds };
/** What part of the processor time compiling may take once the code that runs often is compiled. */
const restOfCompiling = 0.02;
const restSeconds = 4;

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

/** One row: prepare, warm up, the closed loop that is charged, then the open loop for latencies. */
export async function measure(
  name: OperationName,
  system: System,
  atRest: AtRest,
  bench: Bench,
): Promise<Row> {
  const { stores, yardstick, duration } = bench;
  const kind = system.target.kind === 'peer' ? 'oidc-provider' : topologyOf(system);
  const driver = new Driver();
  try {
    bench.say(`${kind} ${name}: preparing`);
    await driver.prepare(name, system.target, duration);
    const warmUpErrors = await warm(driver, system);
    bench.say(`${kind} ${name}: measuring`);
    const before = await usage(system, stores);
    const isSignIn = name === 'sign-in';
    const [loop, physical] = await yardstick.during(isSignIn, () => driver.closedLoop(duration, 1));
    const after = await usage(system, stores);
    const { rate, p50, p99, errors } = await driver.openLoop(duration);
    return {
      operation: name,
      system: kind,
      operations: loop.operations,
      errors: warmUpErrors + loop.errors + errors,
      ...costs(system, before, after, loop),
      ...physical,
      ...storeCosts(before, after, loop, atRest),
      perSecond: loop.operations / loop.seconds,
      rate,
      p50,
      p99,
    };
  } finally {
    driver.stop();
  }
}

/** Until the code that runs often is compiled as well as it will be. */
async function warm(driver: Driver, system: System): Promise<number> {
  const pids = system.processes.map(({ pid }) => pid);
  let errors = 0;
  for (let round = 1; round <= warmUp.most; round += 1) {
    const [compiling, all] = [compilingTime(pids), processorTime(pids)];
    errors += (await driver.closedLoop(warmUp.seconds, warmUp.share)).errors;
    const share = (compilingTime(pids) - compiling) / (processorTime(pids) - all);
    if (round >= warmUp.least && share < restOfCompiling) break;
  }
  return errors;
}

const topologyOf = (system: System): 'compact' | 'split' =>
  system.processes.length === 1 ? 'compact' : 'split';

function costs(system: System, before: Usage, after: Usage, { operations }: ClosedLoopResult) {
  const each = system.processes.map(
    ({ name }, index) =>
      [name, ((after.processes[index] ?? 0) - (before.processes[index] ?? 0)) / operations] as const,
  );
  return {
    micros: each.reduce((sum, [, micros]) => sum + micros, 0),
    processes: Object.fromEntries(each),
  };
}

function storeCosts(before: Usage, after: Usage, { operations }: ClosedLoopResult, atRest: AtRest) {
  const seconds = (after.at - before.at) / 1000;
  const done = (what: keyof StoreWork, restPerSecond = 0): number =>
    Math.max(0, after.work[what] - before.work[what] - restPerSecond * seconds) / operations;
  return {
    postgres: done('postgres'),
    redis: done('redis'),
    statements: done('statements', atRest.statements),
    commands: done('commands', atRest.commands),
  };
}

export const isMeasurable = (name: OperationName, system: System): boolean => {
  const operation = operationNamed(name);
  if (system.target.kind === 'peer') return operation.peers !== undefined;
  return operation.splitOnly !== true || system.target.calls !== undefined;
};
