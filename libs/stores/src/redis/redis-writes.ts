import type { RedisConnection } from './redis-client.ts';

/**
 * Holds what is written to Redis until the requests that came in together have been looked at, so that their commands go
 * out in one write and their replies come in one read: under load those cost more than the commands.
 * @returns to be called before each command.
 */
export function createGathering(connection: RedisConnection): () => void {
  let gathers = false;
  return () => {
    if (gathers) return;
    gathers = true;
    // A connection that comes up meanwhile writes at once.
    const streams = connection.nodes().flatMap(({ status, stream }) => (status === 'ready' ? [stream] : []));
    for (const stream of streams) stream.cork();
    setImmediate(() => {
      gathers = false;
      for (const stream of streams) stream.uncork();
    });
  };
}
