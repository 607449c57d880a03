import { temporarilyUnavailable } from '@tessera/oauth';

/** Why a hash is not computed now. */
export function busy(cause: string): Error {
  return temporarilyUnavailable(new Error(cause));
}
