/** Whole seconds of a time in milliseconds, as messages have them. */
export function seconds(milliseconds: number): bigint {
  return BigInt(Math.floor(milliseconds / 1000));
}
