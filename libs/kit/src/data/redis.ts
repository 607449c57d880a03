export type RedisArgument = string | number | Buffer;

/**
 * The one view of Redis that services have. Every command has a time-out; trouble is thrown as the
 * `temporarily_unavailable` OAuthError. Keys are given without prefix; the handle adds the deployment's.
 */
export interface RedisHandle {
  /** A Lua script as a function; one round trip (EVALSHA, EVAL on a miss). */
  script(source: { readonly name: string; readonly lua: string }): (
    keys: readonly string[],
    args: readonly RedisArgument[],
  ) => Promise<unknown>;
  /** One command, for example `call('SET', key, value, 'PX', 1000)`. */
  call(command: string, ...args: RedisArgument[]): Promise<unknown>;
  close(): Promise<void>;
}
