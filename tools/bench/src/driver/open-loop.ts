import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenLoopResult } from './messages.ts';

/**
 * Sends requests at moments drawn beforehand, as independent clients do (Poisson arrivals), however slow the answers
 * are; a request that could only be sent late has waited since it was due.
 */
export async function openLoop(
  rate: number,
  seconds: number,
  /** Resolves with whether the response was correct; never rejects. */
  ask: () => Promise<boolean>,
): Promise<OpenLoopResult> {
  const latencies: number[] = [];
  let errors = 0;
  const pending: Promise<void>[] = [];
  const start = performance.now();
  const one = async (due: number): Promise<void> => {
    // Timers may fire a fraction of a millisecond early.
    const began = Math.min(start + due, performance.now());
    if (await ask()) latencies.push(performance.now() - began);
    else errors += 1;
  };
  let due = 0;
  while (due < seconds * 1000) {
    const wait = start + due - performance.now();
    if (wait > 1) await sleep(wait);
    pending.push(one(due));
    due += (-Math.log(1 - Math.random()) * 1000) / rate;
  }
  await Promise.all(pending);
  latencies.sort((a, b) => a - b);
  const quantile = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { rate, operations: latencies.length, errors, p50: quantile(0.5), p99: quantile(0.99) };
}
