import type { EndedCount } from '@tessera/directory-client';
import type { Ended, Ends } from '@tessera/proto-gen/impact';
import { whereOffered, type CallOptions } from '@tessera/rpc';
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

/**
 * Counts all that a change would end. What a service does not know how to count, because it is of an earlier version,
 * is absent.
 */
export async function countEnded(
  { sessions, families, approvals, consents }: Counters,
  ends: Ends,
  call: () => CallOptions,
) {
  const [ofSessions, refreshFamilies, ofApprovals, ofConsents] = await Promise.all([
    whereOffered(sessions(ends, call()), unknown),
    families(ends, call),
    approvals && whereOffered(approvals(ends, call()), unknown),
    whereOffered(consents(ends, call()), unknown),
  ]);
  return {
    refreshFamilies,
    ...(ofSessions && { sessions: ofSessions }),
    ...(ofApprovals && { approvals: ofApprovals }),
    ...(ofConsents && { consents: ofConsents }),
  };
}

const unknown = (): undefined => undefined;
