import type { Entry } from './files/imported.ts';

/** A call answers in its error whom it refuses, which has to fit into a trailer. */
const mostPeople = 250;
/** Of a part as JSON; a message may have 4 MiB. */
const mostBytes = 256 * 1024;

/** Some of the people of an import. */
export interface PeoplePart {
  /** How many were read before. */
  readonly before: number;
  /** Copies, of which something may be left out. */
  readonly users: Entry[];
}

/** People in parts that a call can carry: the same ones for the same people. */
export function* inParts(people: Iterable<Entry>): Generator<PeoplePart> {
  let [before, bytes] = [0, 0];
  let users: Entry[] = [];
  for (const person of people) {
    const size = Buffer.byteLength(JSON.stringify(person));
    const { length } = users;
    if (length > 0 && (length === mostPeople || bytes + size > mostBytes)) {
      yield { before, users };
      before += length;
      [users, bytes] = [[], 0];
    }
    users.push(structuredClone(person));
    bytes += size;
  }
  if (users.length > 0) yield { before, users };
}

/** Things in lists of so many. */
export function* inLists<T>(all: readonly T[], most: number): Generator<readonly T[]> {
  for (let next = 0; next < all.length; next += most) yield all.slice(next, next + most);
}

/** Adds things to a list, of which there may be more than a call has arguments. */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const each of more) list.push(each);
}

/** Replaces the things of a list. */
export function refill<T>(list: T[], by: readonly T[]): void {
  list.length = 0;
  append(list, by);
}
