import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';

/**
 * Repeats work of the start, such as migrations, while a store is away: with a pause of up to five seconds, until it
 * succeeds, fails otherwise, or the signal is aborted.
 */
export async function whenAvailable<T>(
  work: () => Promise<T>,
  options: { readonly log: Logger; readonly signal: AbortSignal; readonly what: string },
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    options.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'temporarily_unavailable') throw error;
      if (attempt === 0) options.log.warn({ error }, `${options.what} waits for a store that is away`);
      await sleep(Math.min(100 * 2 ** attempt, 5000), undefined, { signal: options.signal });
    }
  }
}
