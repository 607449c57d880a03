import { callTimeLeft, isInCall } from '@tessera/kit';
import { OAuthError, outcomeUnknown, temporarilyUnavailable } from '@tessera/oauth';
import { isUnavailable } from './store-errors.ts';

/** Less is not enough for a statement and its answer. */
const leastMs = 10;

/** Milliseconds for the present statement or commit. Throws `temporarily_unavailable` if its caller no longer waits. */
export function requireTime(): number {
  const left = callTimeLeft();
  if (left < leastMs) throw temporarilyUnavailable(new Error('no time is left for a change'));
  return left;
}

/** Commits what a call changed. Throws an error that says that the outcome is unknown if it is. */
export async function committing<T>(commit: () => Promise<T>): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    if (!isInCall() || error instanceof OAuthError || !isUnavailable(error)) throw error;
    throw outcomeUnknown(error);
  }
}
