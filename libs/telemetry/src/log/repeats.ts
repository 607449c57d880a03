import type { LogFnFields } from 'pino';
import type { Logger } from './log.ts';

type Fields = Readonly<Record<string, unknown>> & LogFnFields;

/** Rate-limits warnings that clients can trigger. */
export interface RepeatedWarnings {
  /**
   * `cause` distinguishes warnings: a text of ours, from a closed set, never one of a request. Returns whether it is
   * the first.
   */
  warn(cause: string, fields: Fields, message: string): boolean;
}

const intervalMs = 60_000;
/** Beyond this many causes at once the rest counts as one. */
const maxCauses = 1_000;

interface Repeats {
  repeated: number;
  fields: Fields;
}

/**
 * Logs the first warning of a cause at once. Those that follow within a minute are one line at its end, with the fields
 * of the last one and their number in `repeated`.
 */
export function limitRepeats(log: Pick<Logger, 'warn'>): RepeatedWarnings {
  const causes = new Map<string, Repeats>();

  function endLater(cause: string, repeats: Repeats, message: string): void {
    setTimeout(() => {
      if (repeats.repeated === 0) return void causes.delete(cause);
      log.warn({ ...repeats.fields, repeated: repeats.repeated }, message);
      repeats.repeated = 0;
      endLater(cause, repeats, message);
    }, intervalMs).unref();
  }

  return {
    warn(named, fields, message) {
      const cause = causes.has(named) || causes.size < maxCauses ? named : '';
      const repeats = causes.get(cause);
      if (repeats !== undefined) {
        repeats.repeated += 1;
        repeats.fields = fields;
        return false;
      }
      const first = { repeated: 0, fields };
      causes.set(cause, first);
      log.warn(fields, message);
      endLater(cause, first, message);
      return true;
    },
  };
}
