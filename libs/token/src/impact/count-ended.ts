import type { EndedCount } from '@tessera/directory-client';
import type { Ended, Ends } from '@tessera/proto-gen/impact';
import type { CallOptions } from '@tessera/rpc';
import type { CountEndedFamilies } from './count-families.ts';

type Count = (ends: Ends, call: CallOptions) => Promise<Ended | EndedCount | undefined>;

/** Who counts what a change would end. */
export interface Counters {
  readonly sessions: Count;
  readonly families: CountEndedFamilies;
  /** Absent where nobody can be asked for approval. */
  readonly approvals?: Count | undefined;
  readonly consents: Count;
}

/** Counts all that a change would end. */
export async function countEnded(
  { sessions, families, approvals, consents }: Counters,
  ends: Ends,
  call: () => CallOptions,
) {
  const [ofSessions, refreshFamilies, ofApprovals, ofConsents] = await Promise.all([
    sessions(ends, call()),
    families(ends, call),
    approvals?.(ends, call()),
    consents(ends, call()),
  ]);
  return {
    refreshFamilies,
    ...(ofSessions && { sessions: ofSessions }),
    ...(ofApprovals && { approvals: ofApprovals }),
    ...(ofConsents && { consents: ofConsents }),
  };
}
