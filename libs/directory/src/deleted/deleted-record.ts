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
