/** What a kind of records is, apart from its fields. */
interface KindOfRecords {
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

/**
 * Every kind of records, in the order of the declared state. What holds for all kinds reads this table; what each kind
 * has of its own (its fields, its table, its endings, its commands) does not compile without one.
 */
export const recordKinds = {
  tenant: { list: 'tenants', key: 'tenantId', name: 'tenantId', lock: 'alone', isStoredElsewhere: false },
  resource: { list: 'resources', key: 'audience', name: 'audience', lock: 'alone', isStoredElsewhere: false },
  role: { list: 'roles', key: 'name', name: 'name', lock: 'alone', isStoredElsewhere: false },
  provider: { list: 'providers', key: 'name', name: 'name', lock: undefined, isStoredElsewhere: false },
  // They refer only to kinds that take the lock alone.
  user: { list: 'users', key: 'userId', name: 'username', lock: 'together', isStoredElsewhere: true },
  application: {
    list: 'applications',
    key: 'clientId',
    name: 'clientId',
    lock: 'together',
    isStoredElsewhere: true,
  },
} as const satisfies Readonly<Record<string, KindOfRecords>>;

type Kinds = typeof recordKinds;
export type Kind = keyof Kinds;
/** What a tenant has lists of. */
export type ListedKind = Exclude<Kind, 'tenant'>;
/** What is changed one by one. */
export type RecordKind = { [K in Kind]: Kinds[K]['lock'] extends undefined ? never : K }[Kind];
/** What can be restored after its deletion. */
export type RestorableKind = { [K in Kind]: Kinds[K]['isStoredElsewhere'] extends true ? K : never }[Kind];

export const listedKinds = (Object.keys(recordKinds) as Kind[]).filter((kind) => kind !== 'tenant');

/** The name of a record in the declared state. */
export function recordName(kind: Kind, record: object): string {
  return (record as Readonly<Record<string, string>>)[recordKinds[kind].name] ?? '';
}
