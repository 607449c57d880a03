import type { Stores, StoreWork } from '../stores.ts';
import type { System } from '../systems.ts';
import { processorTime } from '../processor-time.ts';

/** What systems and stores used for some time. */
export interface Usage {
  readonly seconds: number;
  /** Microseconds of processor time of each process. */
  readonly processes: readonly number[];
  readonly work: StoreWork;
}

/** What is used while `work` runs. */
export async function usageDuring<T>(
  work: () => Promise<T>,
  stores: Stores,
  processes: System['processes'] = [],
): Promise<[T, Usage]> {
  const times = (): number[] => processes.map(({ pid }) => processorTime(pid));
  const [began, timesBefore, workBefore] = [performance.now(), times(), await stores.work()];
  const result = await work();
  const [timesAfter, workAfter] = [times(), await stores.work()];
  const names = Object.keys(workAfter) as (keyof StoreWork)[];
  const usage = {
    seconds: (performance.now() - began) / 1000,
    processes: timesAfter.map((micros, index) => micros - (timesBefore[index] ?? 0)),
    work: Object.fromEntries(names.map((name) => [name, workAfter[name] - workBefore[name]])) as Record<
      keyof StoreWork,
      number
    >,
  };
  return [result, usage];
}
