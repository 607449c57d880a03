/** What can be restored after its deletion: applications store the `sub` of people, and clients their own identifier. */
export type RestorableKind = 'user' | 'application';

/** A record as it was when it was deleted, perhaps by an earlier version, which knew fewer fields. */
export interface DeletedRecord<R> {
  readonly record: R;
  readonly deletedAt: Date;
}

/** As RecordPage, of deleted records. */
export interface DeletedPage<R> {
  readonly records: readonly DeletedRecord<R>[];
  readonly next: string | undefined;
}
