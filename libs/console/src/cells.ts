import type { Cell, List } from '@tessera/pages';
import { timestampMs } from '@tessera/rpc';

type Timestamp = Parameters<typeof timestampMs>[0];

export function timeCell(time: Timestamp): Cell {
  return { time: timestampMs(time) };
}

export function timeOrNone(time: Timestamp | undefined): Cell {
  return time === undefined ? { text: '' } : timeCell(time);
}

/** A list without search, filters and further pages. */
export function shortList(
  caption: string,
  columns: readonly string[],
  rows: List['rows'],
  empty: string,
): List {
  return { caption, columns, rows, empty, carried: [], filters: [] };
}
