import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import { remedyFor } from './store-errors.ts';

export interface Waiting {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** For the log: what waits. */
  readonly what: string;
  /** Milliseconds after which the log says again that something is to be changed; a minute by default. */
  readonly remindAfterMs?: number;
}

/**
 * Repeats work of the start, such as migrations, while a store is away: with a pause of up to five seconds, until it
 * succeeds, fails otherwise, or the signal is aborted. The log says so once, and again from time to time where waiting
 * alone does not help.
 */
export async function whenAvailable<T>(work: () => Promise<T>, waiting: Waiting): Promise<T> {
  const tell = teller(waiting);
  for (let attempt = 0; ; attempt += 1) {
    waiting.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'temporarily_unavailable') throw error;
      tell(error);
      await sleep(Math.min(100 * 2 ** attempt, 5000), undefined, { signal: waiting.signal });
    }
  }
}

function teller({ log, what, remindAfterMs = 60_000 }: Waiting): (error: OAuthError) => void {
  let told: { readonly remedy: string | undefined; readonly at: number } | undefined;
  return (error) => {
    const remedy = remedyFor(error.cause);
    const now = performance.now();
    const isNews = told === undefined || remedy !== told.remedy;
    const isDue = told !== undefined && remedy !== undefined && now - told.at >= remindAfterMs;
    if (!isNews && !isDue) return;
    told = { remedy, at: now };
    if (remedy === undefined) log.warn({ error }, `${what} waits for a store that is away`);
    else log.error({ error }, `${what} waits, and will until something is changed. ${remedy}`);
  };
}
