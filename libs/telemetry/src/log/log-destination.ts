import { pino } from 'pino';
import type { DestinationStream } from 'pino';

/** Characters gathered, and how long in milliseconds, before lines are written. */
const gatherCharacters = 8192;
const gatherMs = 50;
const warn = 40;

/** pino tells a stream with this member the level of the line it is about to write. */
const metadata = Symbol.for('pino.metadata');

interface LineStream extends DestinationStream {
  lastLevel?: number;
  readonly [metadata]: true;
}

let shared: DestinationStream | undefined;

/**
 * Standard output, of which a process has one, however many loggers. A write for every line costs more than the line, so lines are gathered for a moment; one of level
 * `warn` or above is written at once with all before it, and nothing is left behind when the process exits.
 */
export function standardOutput(): DestinationStream {
  return (shared ??= openStandardOutput());
}

function openStandardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true });
  let gathered = '';
  let timer: NodeJS.Timeout | undefined;
  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered === '') return;
    const lines = gathered;
    gathered = '';
    output.write(lines);
  };
  process.once('exit', () => {
    write();
    output.flushSync();
  });
  const stream: LineStream = {
    [metadata]: true,
    write(line) {
      gathered += line;
      const isUrgent = (stream.lastLevel ?? warn) >= warn;
      if (isUrgent || gathered.length >= gatherCharacters) write();
      else timer ??= setTimeout(write, gatherMs).unref();
      if (isUrgent) output.flushSync();
    },
  };
  return stream;
}
