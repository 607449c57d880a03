/** Runs a statement of a tenant, whose id is its first value. */
export type Write = (
  name: string,
  text: string,
  ...values: unknown[]
) => Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;

/** A change of records of one kind in a tenant. However many they are, it takes one statement per table. */
export type Command = (write: Write) => Promise<void>;
