/** A document declares or touches records of kinds that it may not. Nothing of them is in a message. */
export class OtherKindsError extends Error {
  override readonly name = 'OtherKindsError';
  readonly kinds: readonly string[];

  constructor(kinds: readonly string[]) {
    super('The document is about other kinds of records.');
    this.kinds = kinds;
  }
}
