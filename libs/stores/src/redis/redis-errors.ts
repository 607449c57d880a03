import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';

/** Replies that mean that Redis cannot serve any command now. */
const unavailable =
  /^(LOADING|READONLY|OOM|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|DENIED|NOGOODSLAVE|ERR max number of clients|ERR (The user executing the script can't run|ACL failure in script))/;

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

const remedies: readonly (readonly [answer: RegExp, sentence: string])[] = [
  [
    /^NOPERM|can't run this command|ACL failure in script/,
    'The user of REDIS_URL lacks a right. Give it the rules that docs/operations.md lists.',
  ],
  [/^MOVED/, 'This Redis is part of a cluster. Use redis+cluster://.'],
];

/** What a person has to change before Redis can be used; undefined where waiting helps. */
export function redisRemedy(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined;
  return remedies.find(([answer]) => answer.test(error.message))?.[1];
}
