import type { CallContext } from '@tessera/rpc';
import type { DeletedRecord } from '../deleted/deleted-record.ts';
import type { StatusName } from '../fields/status.ts';
import type { Impact } from '../plans/impact.ts';
import type { RecordKind, RestorableKind, RecordOf } from '../record-kinds.ts';
import type { StoredRecord } from '../plans/tenant-state.ts';
import type { ClaimedRecord, RecordTransaction } from '../store/store.ts';
import type { TenantContents } from '../store/tenant-contents.postgres.ts';

/**
 * A record as it is, or was when it was deleted; if it was only validated, as it would be, without what its store knows
 * about it.
 */
export type Outcome<R> = Pick<StoredRecord<R>, 'record'> &
  Partial<StoredRecord<R> & DeletedRecord<R>> & {
    /** What the change would end, if that was asked. */
    readonly impact?: Impact;
  };

interface Request {
  readonly tenantId: string;
  readonly validateOnly: boolean;
}

interface Create<K extends RecordKind> extends Request {
  readonly id: string;
  /** Empty if the create will not be repeated. */
  readonly requestId: string;
  /** What the request says, with the record as JSON. */
  readonly content: object;
  draft(records: RecordTransaction): Promise<RecordOf[K]>;
}

/** What changes and deletions have in common. */
export interface Change extends Request {
  readonly id: string;
  /** Of the version that the record must have; empty for any. */
  readonly etag: string;
  /** As whom the caller writes. */
  readonly writer: string;
  readonly takeOver: boolean;
  /** Whether a change that is only validated returns what it would end. */
  readonly impact?: boolean;
}

export interface Update<K extends RecordKind> extends Change {
  /** For an update that creates something within the record. */
  readonly claim?: {
    readonly requestId: string;
    /** What the request says. */
    readonly content: object;
    readonly created: ClaimedRecord;
    /** Called with what an earlier request created; the record then stays as it is. */
    repeated(id: string): void;
  };
  /** What the record in the request says; empty if nothing. */
  readonly saidOwner?: string;
  /** If nothing else changes; then no draft is asked for. */
  readonly status?: StatusName | undefined;
  draft(present: RecordOf[K], records: RecordTransaction): Promise<RecordOf[K]>;
}

interface Delete<K extends RecordKind> extends Change {
  /** Throws ConnectError if the record must stay. */
  readonly allow?: (present: RecordOf[K], records: RecordTransaction) => Promise<void>;
}

interface Restore<K extends RestorableKind> extends Request {
  readonly id: string;
  /** Of what is restored, as the check of the request says it; empty for any. */
  readonly etag?: string;
  /** Throws ConnectError if it cannot be restored. */
  draft(deleted: DeletedRecord<RecordOf[K]>, records: RecordTransaction): Promise<RecordOf[K]>;
}

/** Changes one record at a time, as a plan for it alone. A draft may be asked for more than once. */
export interface RecordChanges {
  create<K extends RecordKind>(
    kind: K,
    request: Create<K>,
    context: CallContext,
  ): Promise<Outcome<RecordOf[K]>>;
  update<K extends RecordKind>(
    kind: K,
    request: Update<K>,
    context: CallContext,
  ): Promise<Outcome<RecordOf[K]>>;
  /** Returns what it would end, if that was asked. */
  delete<K extends RecordKind>(
    kind: K,
    request: Delete<K>,
    context: CallContext,
  ): Promise<Impact | undefined>;
  /**
   * Deletes the next part of what is in a tenant, which it disables. Returns how many records of each kind; of a
   * request that is only validated, how many there are. Undefined if there was none.
   */
  deleteContents(
    request: Omit<Change, 'id' | 'impact'>,
    context: CallContext,
  ): Promise<TenantContents | undefined>;
  restore<K extends RestorableKind>(
    kind: K,
    request: Restore<K>,
    context: CallContext,
  ): Promise<Outcome<RecordOf[K]>>;
}
