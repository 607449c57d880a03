import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';

/** Replies that say that Redis cannot do its work now, whatever was asked. */
const unavailable =
  /^(LOADING|READONLY|OOM|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|NOGOODSLAVE|ERR max number of clients)/;

/**
 * Trouble with Redis becomes `temporarily_unavailable`; a reply that blames the command stays as it is, without the
 * arguments that the driver attaches.
 */
export function translateRedisError(error: unknown): unknown {
  if (error instanceof OAuthError) return error;
  if (error instanceof Error && 'command' in error) delete error.command;
  const blamesCommand =
    error instanceof Error && error.name === 'ReplyError' && !unavailable.test(error.message);
  return blamesCommand ? error : temporarilyUnavailable(error);
}
