/** What one replica did with the calls of an interval. */
export interface Tally {
  readonly good: number;
  readonly bad: number;
}

/** Fewer calls than this say nothing about a replica. */
const enoughCalls = 50;
/** How much smaller than that of the others its share of good calls is, at least. */
const margin = 0.3;

/**
 * Which replicas fail far more often than the others do. Relative only: a wave of requests that all replicas answer
 * badly makes none of them an outlier. The deviations of gRFC A50 would need five replicas to see one that fails always.
 * @returns their positions
 */
export function outliersOf(tallies: readonly Tally[]): number[] {
  const known = tallies
    .map(({ good, bad }, at) => ({ at, good, all: good + bad }))
    .filter(({ all }) => all >= enoughCalls);
  const [good, all] = [sum(known.map((one) => one.good)), sum(known.map((one) => one.all))];
  return known
    .filter((one) => all > one.all && one.good / one.all < (good - one.good) / (all - one.all) - margin)
    .map(({ at }) => at);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
