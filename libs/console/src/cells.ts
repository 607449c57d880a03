import { browserName } from '@tessera/languages';
import type { Cell, List } from '@tessera/pages';
import { timestampMs } from '@tessera/rpc';

type Timestamp = Parameters<typeof timestampMs>[0];

export function timeCell(time: Timestamp): Cell {
  return { time: timestampMs(time) };
}

export function timeOrNone(time: Timestamp | undefined): Cell {
  return time === undefined ? { text: '' } : timeCell(time);
}

/** What a browser calls itself, for people. */
export function browserCell(userAgent: string): Cell {
  const found = browserName(userAgent);
  if (found === undefined) return userAgent === '' ? { sentence: 'Unknown browser' } : { text: userAgent };
  const { browser, system } = found;
  return system === undefined
    ? { text: browser }
    : { sentence: '{browser} on {system}', values: { browser, system } };
}

/** A link to the page that does something, for those who may do it. */
export function actCell(sentence: string, href: string): Cell {
  return { sentence, href, isAct: true };
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
