import type { DescService } from '@tessera/rpc';
import { applicationKind } from './applications/kind.ts';
import type { RecordTable } from './fields/record-table.ts';
import { providerKind } from './providers/kind.ts';
import { resourceKind } from './resources/kind.ts';
import { roleKind } from './roles/kind.ts';
import { tenantKind } from './tenants/kind.ts';
import { userKind } from './users/kind.ts';

/**
 * Every kind of records, in the order of the declared state. What holds for all kinds reads this table; what a kind has
 * of its own is in its folder, and where it is more than its row has (its rules, its order among others) in the file
 * that is about that.
 */
export const recordKinds = {
  tenant: tenantKind,
  resource: resourceKind,
  role: roleKind,
  provider: providerKind,
  user: userKind,
  application: applicationKind,
};

type Kinds = typeof recordKinds;
export type Kind = keyof Kinds;
/** What a tenant has lists of. */
export type ListedKind = Exclude<Kind, 'tenant'>;
/** What is changed one by one. */
export type RecordKind = { [K in Kind]: Kinds[K]['lock'] extends undefined ? never : K }[Kind];
/** A kind whose records are the fields of their entries, so that its service has no calls but the standard ones. */
export type StandardKind = Exclude<ListedKind & RecordKind, 'user' | 'application'>;
/** What can be restored after its deletion. */
export type RestorableKind = { [K in Kind]: Kinds[K]['isStoredElsewhere'] extends true ? K : never }[Kind];

type Records = { readonly [K in Kind]: Kinds[K]['table'] extends RecordTable<infer R> ? R : never };
/** The record of each kind. */
export interface RecordOf extends Records {}

/** Something of each kind that a tenant has lists of, by the names of these. */
export type ByList<Of extends Readonly<Record<ListedKind, unknown>>> = {
  readonly [K in ListedKind as Kinds[K]['list']]: Of[K];
};

export const listedKinds = (Object.keys(recordKinds) as Kind[]).filter((kind) => kind !== 'tenant');

export const standardKinds = listedKinds.filter(
  (kind): kind is StandardKind => kind !== 'provider' && kind !== 'user' && kind !== 'application',
);

/** Which service reads and changes records of this kind. */
export function serviceOf(kind: StandardKind): DescService {
  const { service } = recordKinds[kind];
  if (service === undefined) throw new Error(`No service reads a ${kind}.`);
  return service;
}

/** What is made of each kind, by the names of its lists. The caller says of which type each is. */
export function byList<Value>(
  valueOf: (kind: ListedKind) => Value,
): Readonly<Record<keyof ByList<RecordOf>, Value>> {
  const values = listedKinds.map((kind) => [recordKinds[kind].list, valueOf(kind)]);
  return Object.fromEntries(values) as Record<keyof ByList<RecordOf>, Value>;
}

/** The name of a record, or of the entry that asks for one, in the declared state. */
export function recordName(kind: Kind, record: object | string): string {
  if (typeof record === 'string') return record;
  return (record as Readonly<Record<string, string>>)[recordKinds[kind].name] ?? '';
}
