import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import { sqlState } from '../log/errors.ts';
import { outcomeOf } from '../metrics/calls.ts';

const faults: ReadonlySet<Code> = new Set([
  Code.Internal,
  Code.Unknown,
  Code.DataLoss,
  Code.Unavailable,
  Code.DeadlineExceeded,
]);

/** What a trace may say of an error: its code, and whether it is a fault of ours. Never its message. */
export function failureOf(error: unknown): { readonly code: string; readonly isFault: boolean } {
  return { code: sqlState(error) ?? outcomeOf(error), isFault: isFault(error) };
}

function isFault(error: unknown): boolean {
  if (error instanceof OAuthError) return error.status >= 500;
  if (error instanceof ConnectError) return faults.has(error.code);
  // A race that was lost is a violated constraint: a result.
  return sqlState(error)?.startsWith('23') !== true;
}
