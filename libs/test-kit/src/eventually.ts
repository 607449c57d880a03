import { setTimeout as sleep } from 'node:timers/promises';

/** Asks every `intervalMs` until `check` holds; one that throws does not. Throws with `what` after `timeoutMs`. */
export async function eventually(
  what: string,
  check: () => Promise<boolean> | boolean,
  timeoutMs = 120_000,
  intervalMs = 50,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (Date.now() < end) {
    try {
      if (await check()) return;
    } catch {
      // Not yet.
    }
    await sleep(intervalMs);
  }
  throw new Error(`not within ${timeoutMs} ms: ${what}`);
}
