import type { Fields, RecordOf } from './field.ts';

type ColumnType = 'boolean' | 'integer' | 'jsonb' | 'text' | 'text[]';

/**
 * Where the value of a field is stored: in the column of its name in snake case; each of its keys in a column of its own;
 * or in another table, from where `select` reads it.
 */
export type Stored =
  | ColumnType
  | { readonly type: ColumnType; readonly columns: Readonly<Record<string, string>> }
  | { readonly select: string };

/** The parts of the statements that read and write a table of fields. */
export interface Columns<T extends Fields> {
  /** For SELECT, with the names that `read` expects. */
  readonly selected: string;
  read(row: Readonly<Record<string, unknown>>): RecordOf<T>;
  /** For INSERT: the names of the columns. */
  readonly names: string;
  /** For the SELECT that an INSERT writes: the values of `names`. */
  readonly values: string;
  /** Of the records that `values` reads, for jsonb_to_recordset. */
  readonly definitions: string;
  /** For ON CONFLICT DO UPDATE: all columns but the key. */
  readonly updates: string;
}

interface Column {
  readonly name: string;
  /** How it is called in a row that is read. */
  readonly path: string;
  readonly value: string;
}

/**
 * @param key the field that identifies a record
 * @param alias of the table, where records are read, and of the records, where they are written
 */
export function columnsOf<T extends Fields>(fields: T, key: keyof T & string, alias: string): Columns<T> {
  const keys = Object.keys(fields);
  const columns = keys.flatMap((name) => columnsOfField(name, fields[name]?.stored, alias));
  const elsewhere = keys.flatMap((name) => {
    const stored = fields[name]?.stored;
    return typeof stored === 'object' && 'select' in stored ? [`${stored.select} AS "${name}"`] : [];
  });
  return {
    selected: [...columns.map(({ name, path }) => `${alias}.${name} AS "${path}"`), ...elsewhere].join(', '),
    read: (row) => recordOf(fields, row) as RecordOf<T>,
    names: columns.map(({ name }) => name).join(', '),
    values: columns.map(({ value }) => value).join(', '),
    definitions: keys.flatMap((name) => definitionOf(name, fields[name]?.stored)).join(', '),
    updates: columns
      .filter(({ path }) => path !== key)
      .map(({ name }) => `${name} = excluded.${name}`)
      .join(', '),
  };
}

function columnsOfField(key: string, stored: Stored | undefined, alias: string): Column[] {
  if (stored === undefined) return [];
  if (typeof stored === 'string') return [{ name: snakeCase(key), path: key, value: `${alias}."${key}"` }];
  if ('select' in stored) return [];
  return Object.entries(stored.columns).map(([part, name]) => ({
    name,
    path: `${key}.${part}`,
    value: `(${alias}."${key}" ->> '${part}')::${stored.type}`,
  }));
}

function definitionOf(key: string, stored: Stored | undefined): string[] {
  if (stored === undefined || (typeof stored === 'object' && 'select' in stored)) return [];
  return [`"${key}" ${typeof stored === 'string' ? stored : 'jsonb'}`];
}

function recordOf(fields: Fields, row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [key, { stored }] of Object.entries(fields)) {
    record[key] =
      typeof stored === 'string' || 'select' in stored
        ? row[key]
        : Object.fromEntries(Object.keys(stored.columns).map((part) => [part, row[`${key}.${part}`]]));
  }
  return record;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
