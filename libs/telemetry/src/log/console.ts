import { Console } from 'node:console';
import { Writable } from 'node:stream';
import type { Logger } from './log.ts';
import { limitRepeats } from './repeats.ts';

/** Makes what libraries print on the console warnings of the log, at most one of each text a minute. */
export function logConsole(log: Pick<Logger, 'warn'>): void {
  const repeats = limitRepeats(log);
  const stream = new Writable({
    decodeStrings: false,
    write(text: string | Buffer, _encoding, done) {
      const line = String(text).trim();
      repeats.warn(line, { event: 'library.printed' }, line);
      done();
    },
  });
  globalThis.console = new Console(stream);
}
