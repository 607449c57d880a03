import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';

/** Replies that mean that Redis cannot serve any command now. */
const unavailable =
  /^(LOADING|READONLY|OOM|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|DENIED|NOGOODSLAVE|ERR max number of clients)/;

/**
 * Maps failures of Redis to `temporarily_unavailable`. A reply that rejects the command itself stays as it is, without
 * the arguments that the driver attaches.
 */
export function translateRedisError(error: unknown): unknown {
  if (error instanceof OAuthError) return error;
  if (error instanceof Error && 'command' in error) delete error.command;
  const blamesCommand =
    error instanceof Error && error.name === 'ReplyError' && !unavailable.test(error.message);
  return blamesCommand ? error : temporarilyUnavailable(error);
}
