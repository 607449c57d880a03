/** An entry of a list of a tenant in the declared state. */
export type Entry = Record<string, unknown>;

/** Whether it is a set of keys. */
export function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** People as a file has them, read anew each time, and a line for each thing of theirs that is left out. */
export interface ReadPeople {
  readonly users: Iterable<Entry>;
  readonly leftOut: readonly string[];
}

/** What a tenant has in the declared state, as far as it was read elsewhere. */
export interface ImportedRecords {
  readonly resources: Entry[];
  readonly roles: string[];
  readonly users: Entry[];
  readonly applications: Entry[];
  /** Absent where nobody reads them. */
  readonly providers?: Entry[];
}

/** As read: a caller that changes some of them copies them first. */
interface ReadRecords extends Omit<ImportedRecords, 'users'> {
  /** In their order, as often as somebody reads them: they may be too many to have at once. */
  readonly users: Iterable<Entry>;
}

/** What remains to be done for an application. */
export interface ToDo {
  readonly clientId: string;
  /** Why it comes disabled. */
  readonly disabledFor: readonly string[];
  readonly what: readonly string[];
}

/** What was read from the files of another product. */
export interface Imported {
  readonly records: ReadRecords;
  /** Who owns the records. */
  readonly owner: string;
  /** Of a tenant that is not there yet; undefined if it must be there. */
  readonly tenantName: string | undefined;
  /** Further keys of that tenant. */
  readonly tenantKeys?: Entry;
  /** A line for each thing that is left out, such as `user ada: one-time passwords have no counterpart`. */
  readonly leftOut: readonly string[];
  readonly toDo?: readonly ToDo[];
  /** A line for each thing that is to be done and is of no application. */
  readonly toDoOfTenant?: readonly string[];
  /** Why an application needs a secret that the files do not have, by its identifier. */
  readonly newSecrets?: ReadonlyMap<string, string>;
}

/** The name of what a file says, in the characters that a tenant or an owner may have. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
}
