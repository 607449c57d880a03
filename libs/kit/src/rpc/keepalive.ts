import type { Http2Session } from 'node:http2';

/**
 * Pings the other end every `everyMs`, and ends the connection when an answer takes longer than `withinMs`.
 * @returns what ends it
 */
export function keepAlive(session: Http2Session, everyMs: number, withinMs: number): () => void {
  let silence: NodeJS.Timeout | undefined;
  const ping = setInterval(() => {
    // Node answers a ping on a connection that closes with an error; the calls on it may end.
    if (session.destroyed || session.closed || silence !== undefined) return;
    silence = setTimeout(() => session.destroy(), withinMs).unref();
    const sent = session.ping((error) => {
      clearTimeout(silence);
      silence = undefined;
      if (error !== null) session.destroy();
    });
    if (!sent) session.destroy();
  }, everyMs).unref();
  return () => {
    clearInterval(ping);
    clearTimeout(silence);
  };
}
