import { backOff, repeat } from './repeat.ts';
import { SilenceTimer } from './silence-timer.ts';

export interface FollowOptions<M> {
  /** Opens the stream, where the follower wants to resume. */
  readonly open: (signal: AbortSignal) => AsyncIterable<M>;
  /**
   * Takes a message; `isFirst` in its stream. Answers whether the follower has all that it missed: then the next pause
   * is the shortest again.
   */
  readonly onMessage: (message: M, isFirst: boolean) => boolean;
  /** A stream has ended, the last of `failures` in a row. Not called when the follower is closed. */
  readonly onEnd: (reason: Error, failures: number) => void;
  /** A stream that sends nothing for this time is dead; undefined: the peer is in this process and ends its streams. */
  readonly silenceMs: number | undefined;
  readonly shortestPauseMs: number;
  readonly longestPauseMs: number;
}

/** Follows a server's stream, and opens it again after a pause whenever it ends, fails or falls silent. */
export function followStream<M>(options: FollowOptions<M>): { close(): Promise<void> } {
  const { open, onMessage, onEnd, silenceMs, shortestPauseMs, longestPauseMs } = options;
  let failures = 0;

  /** Reads one stream to its end; resolves with the reason. */
  async function read(closing: AbortSignal): Promise<Error> {
    const silent = new AbortController();
    const signal = AbortSignal.any([silent.signal, closing]);
    const silence = silenceMs === undefined ? undefined : new SilenceTimer(silenceMs, () => silent.abort());
    let isFirst = true;
    try {
      for await (const message of open(signal)) {
        silence?.heard();
        if (onMessage(message, isFirst)) failures = 0;
        isFirst = false;
      }
      return new Error('the server ended the stream');
    } catch (error) {
      if (silent.signal.aborted) return new Error('the server was silent');
      return error instanceof Error ? error : new Error('the stream failed', { cause: error });
    } finally {
      silence?.stop();
    }
  }

  return repeat(
    async (closing) => {
      const reason = await read(closing);
      if (closing.aborted) return;
      failures += 1;
      onEnd(reason, failures);
    },
    {
      pauseMs: () => backOff(shortestPauseMs, longestPauseMs, failures),
      onError: (error) => {
        throw error;
      },
    },
  );
}
