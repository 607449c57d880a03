import { TypeOverrides, types } from 'pg';

const { BYTEA, INT8, DATE, TIMESTAMP, TIMESTAMPTZ } = types.builtins;
const int8Array = 1016;
const textArray = 1009;
const timestamptzArray = 1185;

/** How `pg` reads rows: its own ways, except that bigint is a number, and date and timestamp stay text. */
export const postgresTypes = new TypeOverrides();
const digits = parserOf(int8Array) as (text: string) => (string | null)[];
postgresTypes.setTypeParser(int8Array, (text) =>
  digits(text).map((element) => (element === null ? null : wholeNumber(element))),
);
postgresTypes.setTypeParser(INT8, wholeNumber);
postgresTypes.setTypeParser(DATE, String);
postgresTypes.setTypeParser(TIMESTAMP, String);

/** The same for PGlite, by type oid: the types that it would read in another way. */
export const parsers = Object.fromEntries(
  [BYTEA, INT8, int8Array, textArray, DATE, TIMESTAMP, TIMESTAMPTZ, timestamptzArray].map((oid) => [
    oid,
    parserOf(oid),
  ]),
);

function parserOf(oid: number) {
  // The declaration says by mistake that it returns a function of a number.
  return postgresTypes.getTypeParser(oid) as unknown as (text: string) => unknown;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError('A bigint of the database does not fit a number.');
}
