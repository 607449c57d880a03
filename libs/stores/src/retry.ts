import { setTimeout as sleep } from 'node:timers/promises';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { isConflict, isStalePlan, isUnavailable } from './store-errors.ts';

const retries = 3;

/** Runs work that is safe to repeat: up to three more times on conflicts, with growing random pauses. */
export async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      const again = isConflict(error) || isStalePlan(error);
      if (!again && !isUnavailable(error)) throw error;
      if (!again || attempt === retries) throw temporarilyUnavailable(error);
      await sleep(Math.random() * 10 * 2 ** attempt);
    }
  }
}
