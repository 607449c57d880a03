import type { DescService } from '@tessera/rpc';
import type { z } from 'zod';
import type { Command } from './ground/command.ts';
import type { EndingsOf } from './fields/ending.ts';
import type { Fields, ReferenceRow } from './fields/field.ts';
import type { RecordTable } from './fields/record-table.ts';

interface Owned {
  readonly owner: string;
}

/** What a kind of records is called, and how it is treated. */
interface Facts {
  /** Its list in the declared state and in the state of a tenant. */
  readonly list: string;
  /** The field that identifies a record. It never changes. */
  readonly key: string;
  /** The field by which the declared state, and so a message to people, names a record. */
  readonly name: string;
  /** Of the tenant, for a change of one record (AIP-134); undefined where the declared state alone changes them. */
  readonly lock: 'alone' | 'together' | undefined;
  /**
   * Whether others store the key, as applications do the `sub` of people, and clients their own identifier: no deletion
   * goes unasked, and what is deleted can be restored.
   */
  readonly isStoredElsewhere: boolean;
}

interface Stored<R, Key> {
  readonly table: RecordTable<R>;
  readonly endings: EndingsOf<R, Key>;
  /** Whose calls change one record. */
  readonly service?: DescService;
}

interface Declared<R, Entry extends z.ZodType, F extends Fields> {
  /** An entry of its list in the declared state, which may be the name alone. */
  readonly entry: Entry;
  /** Entries of a list. */
  readonly most?: number;
  readonly fields: F;
  /** The keys of an entry, if it has keys. */
  readonly reference?: readonly ReferenceRow[];
  /** The entry that asks for a record, if it is not just its fields. */
  readonly written?: (record: R) => unknown;
  put(records: readonly R[]): Command;
  remove(records: readonly R[]): Command;
}

/** The kind of what is in no tenant. */
export function kindOfRecords<const F extends Facts, R extends Owned>(
  facts: F,
  stored: Stored<R, F['key']>,
): F & Stored<R, F['key']> {
  return { ...facts, ...stored };
}

/** A kind of what a tenant has a list of. */
export function listedKind<const A extends Facts, R extends Owned, E extends z.ZodType, F extends Fields>(
  facts: A,
  row: Stored<R, A['key']> & Declared<R, E, F>,
): A & Stored<R, A['key']> & Declared<R, E, F> {
  return { ...facts, ...row };
}
