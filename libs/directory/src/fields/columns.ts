type ColumnType = 'boolean' | 'integer' | 'jsonb' | 'text' | 'text[]';

/**
 * Where the value of a field is stored: in the column of its name in snake case; each of its keys in a column of its
 * own; or in another table, from where `select` reads it.
 */
export type Stored =
  | ColumnType
  | { readonly type: ColumnType; readonly columns: Readonly<Record<string, string>> }
  | { readonly select: string };

/** What is stored of the fields of a record, by their names. */
export type StoredFields = Readonly<Record<string, { readonly stored: Stored }>>;

type Row = Readonly<Record<string, unknown>>;

/** The parts of the statements that read and write records of one kind. */
export interface Columns<T> {
  /** For SELECT, with the names that `read` expects. */
  readonly selected: string;
  /** The record of a row; without the fields that are null. */
  read(row: Row): T;
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
 * @param key the field that identifies a record of a tenant
 * @param alias of the table, where records are read, and of the records, where they are written
 * @param prefix of the names in a row, so that records of several kinds can stand in one
 */
export function columnsOf<T>(fields: StoredFields, key: string, alias: string, prefix = ''): Columns<T> {
  const entries = Object.entries(fields).map(([name, { stored }]) => [name, stored] as const);
  const columns = entries.flatMap(([name, stored]) => columnsOfField(name, stored, alias));
  const elsewhere = entries.flatMap(([name, stored]) =>
    typeof stored === 'object' && 'select' in stored ? [`${stored.select} AS "${prefix}${name}"`] : [],
  );
  const selected = columns.map(({ name, path }) => `${alias}.${name} AS "${prefix}${path}"`);
  return {
    selected: [...selected, ...elsewhere].join(', '),
    read: readerOf(fields, prefix) as (row: Row) => T,
    names: columns.map(({ name }) => name).join(', '),
    values: columns.map(({ value }) => value).join(', '),
    definitions: entries.flatMap(([name, stored]) => definitionOf(name, stored)).join(', '),
    updates: columns
      .filter(({ path }) => path !== key)
      .map(({ name }) => `${name} = excluded.${name}`)
      .join(', '),
  };
}

function columnsOfField(key: string, stored: Stored, alias: string): Column[] {
  if (typeof stored === 'string') return [{ name: snakeCase(key), path: key, value: `${alias}."${key}"` }];
  if ('select' in stored) return [];
  return Object.entries(stored.columns).map(([part, name]) => ({
    name,
    path: `${key}.${part}`,
    value: `(${alias}."${key}" ->> '${part}')::${stored.type}`,
  }));
}

function definitionOf(key: string, stored: Stored): string[] {
  if (typeof stored === 'string') return [`"${key}" ${stored}`];
  return 'select' in stored ? [] : [`"${key}" jsonb`];
}

/** Made once, as a file may have thousands of records. */
function readerOf(fields: StoredFields, prefix: string): (row: Row) => Record<string, unknown> {
  const keys = Object.entries(fields).map(([key, { stored }]) => {
    const path = `${prefix}${key}`;
    const parts = typeof stored === 'object' && 'columns' in stored ? Object.keys(stored.columns) : undefined;
    return { key, path, parts: parts?.map((part) => ({ part, path: `${path}.${part}` })) };
  });
  return (row) => {
    const record: Record<string, unknown> = {};
    for (const { key, path, parts } of keys) {
      if (parts === undefined) record[key] = row[path] ?? undefined;
      else {
        const value: Record<string, unknown> = {};
        for (const { part, path } of parts) value[part] = row[path];
        record[key] = value;
      }
    }
    return record;
  };
}

/** The name in SQL and in registered claims of what is called `name` here. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
