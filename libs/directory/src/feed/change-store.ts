import type { FeedStore } from '@tessera/stores';
import type { Change } from '../ground/append-changes.postgres.ts';

export interface SequencedChange extends Change {
  readonly sequence: number;
  /** The record was no longer active: disabled, locked or deleted. */
  readonly ended: boolean;
  /** Seconds since the Unix epoch. */
  readonly recordedAt: number;
}

/** The change feed; on record for a week. */
export interface ChangeStore extends FeedStore<SequencedChange> {
  /** The position behind which everything recorded since `seconds` (Unix epoch) comes, as far as it is on record. */
  positionBefore(seconds: number): Promise<number>;
}
