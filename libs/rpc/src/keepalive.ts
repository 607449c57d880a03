import type { Http2Session } from 'node:http2';

/**
 * Pings the other end every `everyMs`, and has the connection cut when an answer takes longer than `withinMs`.
 * @param cut ends the connection and its socket: a session alone waits for what is still to be written
 * @returns what ends it
 */
export function keepAlive(
  session: Http2Session,
  everyMs: number,
  withinMs: number,
  cut: () => void,
): () => void {
  let silence: NodeJS.Timeout | undefined;
  const ping = setInterval(() => {
    // Node answers a ping on a connection that closes with an error; the calls on it may end.
    if (session.destroyed || session.closed || silence !== undefined) return;
    silence = setTimeout(cut, withinMs).unref();
    const sent = session.ping((error) => {
      clearTimeout(silence);
      silence = undefined;
      if (error !== null) cut();
    });
    if (!sent) cut();
  }, everyMs).unref();
  return () => {
    clearInterval(ping);
    clearTimeout(silence);
  };
}
