/** How many characters a slip may change at most, and of a short name at most half. */
const slip = 3;

/**
 * The known name that differs from `name` in the fewest characters, whatever their case; undefined if even that is more
 * than a slip.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let smallest = Math.min(slip, Math.floor(name.length / 2)) + 1;
  for (const candidate of known) {
    const difference = distance(name.toLowerCase(), candidate.toLowerCase());
    if (difference < smallest) [best, smallest] = [candidate, difference];
  }
  return best;
}

/** Levenshtein distance. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
