import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { Stored } from './columns.ts';

/** A key of the declared state. */
export interface Key<Schema extends z.ZodType = z.ZodType> {
  /** Of the declared value. With a default the key may be left out, and is written only if its value is another. */
  readonly schema: Schema;
  /** For people, in Markdown: `npm run generate` writes it into the tables of README.md. */
  readonly reference: string;
}

/** A field of a kind of record: a key of the declared state, and where its value goes. */
export interface Field<
  Schema extends z.ZodType = z.ZodType,
  Sent extends object = object,
> extends Key<Schema> {
  readonly stored: Stored;
  /** Of new records, where the schema has no default: a key that is left out keeps the value of the record. */
  readonly initial?: ValueOf<Schema>;
  /** What the message has of it; without this, a field of the same name and value. */
  sent?(value: ValueOf<Schema>): Sent;
  /** The value as the declared state that is written has it, if it has a shorter form. */
  written?(value: ValueOf<Schema>): unknown;
}

type Keys = Readonly<Record<string, Key>>;
export type Fields = Readonly<Record<string, Field>>;
export type ValueOf<Schema extends z.ZodType> = Exclude<z.output<Schema>, undefined>;

/** The record of a table of fields. */
export type RecordOf<T extends Fields> = { readonly [K in keyof T]: ValueOf<T[K]['schema']> };

type SentBy<F> = F extends Field<z.ZodType, infer Sent> ? Sent : never;
type SentAsItIs<T extends Fields> = {
  [K in keyof T as [SentBy<T[K]>] extends [never] ? K : never]: ValueOf<T[K]['schema']>;
};
type Together<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;
/** The fields that a table contributes to a message. */
export type MessageOf<T extends Fields> = SentAsItIs<T> & Together<SentBy<T[keyof T]>>;

/** A row of a table of fields. */
export function field<Schema extends z.ZodType, Sent extends object = never>(
  row: Field<Schema, Sent>,
): Field<Schema, Sent> {
  return row;
}

/** The shape of the schema of the declared state that has these keys. */
export function shapeOf<T extends Keys>(keys: T): { [K in keyof T]: T[K]['schema'] } {
  return mapped(keys, ({ schema }) => schema) as { [K in keyof T]: T[K]['schema'] };
}

/** A row of the reference of the declared state. */
export interface ReferenceRow {
  readonly key: string;
  readonly isOptional: boolean;
  /** Markdown. */
  readonly text: string;
}

/** The rows of the reference for these keys. */
export function referenceOf(keys: Keys): ReferenceRow[] {
  return Object.entries(keys).map(([key, { schema, reference: text }]) => ({
    key,
    isOptional: schema.safeParse(undefined).success,
    text,
  }));
}

/** The record that a declaration asks for, given the present one. */
export function desiredOf<T extends Fields>(
  fields: T,
  declared: { readonly [K in keyof T]?: z.output<T[K]['schema']> | undefined },
  current: RecordOf<T> | undefined,
): RecordOf<T> {
  return mapped(fields, ({ initial }, key) => declared[key] ?? current?.[key] ?? initial) as RecordOf<T>;
}

/** The entry of the declared state that asks for a record, without the keys that may be left out. */
export function entryOf<T extends Fields>(fields: T, record: RecordOf<T>): Record<string, unknown> {
  const all = mapped(fields, (field, key) => {
    const given = unlessDefault(record[key], defaultOf(field));
    return given === undefined || field.written === undefined ? given : field.written(record[key]);
  });
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/**
 * The values of a record that an operator gets: the entry with defaults, but for sets of keys that are as in the
 * default.
 */
export function valuesOf<T extends Fields>(fields: T, record: RecordOf<T>): Record<string, unknown> {
  return mapped(fields, (field, key) => {
    const value = record[key];
    return isSet(value) && isDeepStrictEqual(value, defaultOf(field)) ? undefined : value;
  });
}

/** What the message has of a record. */
export function messageOf<T extends Fields>(fields: T, record: RecordOf<T>): MessageOf<T> {
  const sent = Object.entries(fields).map(([key, field]) =>
    field.sent === undefined ? { [key]: record[key] } : field.sent(record[key]),
  );
  return Object.assign({}, ...sent) as MessageOf<T>;
}

/** Of a set of keys, those that are not as in the default. */
function unlessDefault(value: unknown, usual: unknown): unknown {
  if (isDeepStrictEqual(value, usual)) return undefined;
  if (!isSet(value) || !isSet(usual)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key, part]) => !isDeepStrictEqual(part, usual[key])),
  );
}

const defaults = new WeakMap<Field, unknown>();

function defaultOf(field: Field): unknown {
  if (!defaults.has(field)) defaults.set(field, field.initial ?? field.schema.safeParse(undefined).data);
  return defaults.get(field);
}

function isSet(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapped<F extends Key, V>(
  fields: Readonly<Record<string, F>>,
  valueOf: (field: F, key: string) => V,
): Record<string, V> {
  const values: Record<string, V> = {};
  for (const [key, field] of Object.entries(fields)) values[key] = valueOf(field, key);
  return values;
}
