import { timestampMs, type Timestamp } from '@bufbuild/protobuf/wkt';
import { invalidFields } from './errors/field-violations.ts';

const mostStretches = 100;
const longestSeconds = 366 * 86_400;

/** What a request says of the stretches of time in which something is counted. */
export interface StretchesRequest {
  readonly startTime?: Timestamp | undefined;
  readonly stretchSeconds: number;
  readonly stretches: number;
}

/**
 * When each of the stretches begins, and when the last one ends, in milliseconds. Throws InvalidArgument for more than
 * somebody can look at.
 */
export function stretchesOf({ startTime, stretchSeconds, stretches }: StretchesRequest): readonly number[] {
  if (stretches > mostStretches || stretches * stretchSeconds > longestSeconds)
    throw invalidFields([
      { field: 'stretches', description: `must be at most ${mostStretches}, and a year in all` },
    ]);
  const from = startTime === undefined ? 0 : timestampMs(startTime);
  return Array.from({ length: stretches + 1 }, (_, at) => from + at * stretchSeconds * 1000);
}
