import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import { remedyFor } from './store-errors.ts';

export interface WaitOptions {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** What is waiting, for the log. */
  readonly what: string;
  /** Milliseconds until the log repeats what an operator must do; a minute by default. */
  readonly remindAfterMs?: number;
  /** In milliseconds, for what the log repeats. */
  readonly now?: () => number;
}

/**
 * Repeats work of the start, such as migrations, while a store is unavailable: with pauses of up to five seconds, until
 * it succeeds, fails for another reason, or the signal is aborted. The log says so once, and repeats it if an operator
 * must act.
 */
export async function whenAvailable<T>(work: () => Promise<T>, options: WaitOptions): Promise<T> {
  const report = createReporter(options);
  for (let attempt = 0; ; attempt += 1) {
    options.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'temporarily_unavailable') throw error;
      report(error);
      await sleep(Math.min(100 * 2 ** attempt, 5000), undefined, { signal: options.signal });
    }
  }
}

function createReporter({
  log,
  what,
  remindAfterMs = 60_000,
  now: timeNow = () => performance.now(),
}: WaitOptions): (error: OAuthError) => void {
  let reported: { readonly remedy: string | undefined; readonly at: number } | undefined;
  return (error) => {
    const remedy = remedyFor(error.cause);
    const now = timeNow();
    const isNews = reported === undefined || remedy !== reported.remedy;
    const isDue = reported !== undefined && remedy !== undefined && now - reported.at >= remindAfterMs;
    if (!isNews && !isDue) return;
    reported = { remedy, at: now };
    if (remedy === undefined) log.warn({ err: error }, `${what} is waiting: store unavailable`);
    else log.error({ err: error }, `${what} is waiting; needs operator action: ${remedy}`);
  };
}
