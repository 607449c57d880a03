import { types, type CustomTypesConfig } from 'pg';

type Parser = (text: string) => unknown;

const json: Parser = (text): unknown => JSON.parse(text);

function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError('A bigint of the database does not fit a number.');
}

/** Elements of a one-dimensional array, as the driver splits them. */
function elements(text: string): (string | null)[] {
  const split = types.getTypeParser(oid.textArray as number, 'text') as (text: string) => (string | null)[];
  return split(text);
}

const oid = {
  bytea: 17,
  int8: 20,
  json: 114,
  int8Array: 1016,
  textArray: 1009,
  date: 1082,
  timestamp: 1114,
  timestamptz: 1184,
  timestamptzArray: 1185,
  numeric: 1700,
  jsonb: 3802,
} as const;

const asText: Parser = (text) => text;
const date: Parser = (text) => new Date(text);

function listOf(parse: Parser): Parser {
  return (text) => elements(text).map((element) => (element === null ? null : parse(element)));
}

/** How both engines read the types on which they would differ; by type oid. */
export const parsers: Readonly<Record<number, Parser>> = {
  [oid.bytea]: (text) => Buffer.from(text.slice(2), 'hex'),
  [oid.int8]: wholeNumber,
  [oid.json]: json,
  [oid.jsonb]: json,
  [oid.int8Array]: listOf(wholeNumber),
  [oid.textArray]: elements,
  [oid.date]: asText,
  [oid.timestamp]: asText,
  [oid.timestamptz]: date,
  [oid.timestamptzArray]: listOf(date),
  [oid.numeric]: asText,
};

export const postgresTypes: CustomTypesConfig = {
  getTypeParser(type: number, format?: 'text' | 'binary') {
    const standard = types.getTypeParser(type, format ?? 'text') as Parser;
    return parsers[type] ?? standard;
  },
};
