import { vi } from 'vitest';

/** As in the configuration of the tests: what takes longer hangs, however busy the machine is. */
const hangsMs = 120_000;

/** Repeats `check` until it throws nothing. Throws what it threw last once that hangs. */
export async function waitFor<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: hangsMs, interval: 50 });
}
