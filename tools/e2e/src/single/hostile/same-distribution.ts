/**
 * How far two samples lie apart (Mann-Whitney): the probability that a value of `these` is larger than one of `those`,
 * less one half, in standard deviations of what chance does. Needs no assumption about the distributions; a few slow
 * answers of a busy machine do not matter.
 */
export function standardDeviationsApart(these: readonly number[], those: readonly number[]): number {
  const ranked = [
    ...these.map((value) => ({ value, ours: true })),
    ...those.map((value) => ({ value, ours: false })),
  ].sort((one, other) => one.value - other.value);
  let sum = 0;
  for (let start = 0; start < ranked.length;) {
    let end = start;
    while (end < ranked.length && ranked[end]?.value === ranked[start]?.value) end += 1;
    // Equal values share their ranks.
    const rank = (start + 1 + end) / 2;
    for (let index = start; index < end; index += 1) if (ranked[index]?.ours === true) sum += rank;
    start = end;
  }
  const [m, n] = [these.length, those.length];
  const expected = (m * (m + n + 1)) / 2;
  return (sum - expected) / Math.sqrt((m * n * (m + n + 1)) / 12);
}

/** Milliseconds in the middle. */
export function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
