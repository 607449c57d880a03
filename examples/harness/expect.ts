/** Throws an error that says what was expected. */
export function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`Expected: ${what}`);
}
