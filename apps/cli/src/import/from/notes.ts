import { printable } from '../files/printable.ts';

/** Longest name of a key in a line, in UTF-16 code units: people may have made it. */
const longestName = 80;

/** What is left out, counted over people: a line for each thing, however many have it. */
export interface Notes {
  /** Says that one more person has `what`, which is left out: why, and what to do. */
  add(what: string, why: string): void;
  lines(): string[];
}

export function createNotes(): Notes {
  const found = new Map<string, { readonly what: string; readonly why: string; count: number }>();
  return {
    add(what, why) {
      const id = `${what}\n${why}`;
      const same = found.get(id);
      if (same === undefined) found.set(id, { what, why, count: 1 });
      else same.count += 1;
    },
    lines: () =>
      [...found.values()].map(({ what, why, count }) => `${shown(what)} of ${count} people: ${why}`),
  };
}

/** Notes nothing, for people who were noted before. */
export const noNotes: Notes = { add: () => undefined, lines: () => [] };

function shown(name: string): string {
  const harmless = printable(name);
  return harmless.length > longestName ? `${harmless.slice(0, longestName)}...` : harmless;
}
