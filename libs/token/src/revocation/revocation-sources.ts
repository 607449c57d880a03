import { rootCall } from '@tessera/rpc';
import { type ChangeFeed, type FeedItem } from '@tessera/stores';
import type { Client } from '@tessera/rpc';
import type { AuthorizeService, WatchSessionEndsResponse } from '@tessera/proto-gen/authorize';
import type { DirectoryService, WatchChangesResponse } from '@tessera/proto-gen/directory';
import { outOfRange, type Positions } from './revocation-cursor.ts';
import type { RecordedRevocation, RevocationStore } from '../store/store.ts';

export interface SourceParts {
  readonly revocations: RevocationStore;
  readonly revocationFeed: ChangeFeed<RecordedRevocation>;
  readonly changes: Client<typeof DirectoryService>;
  readonly sessions: Client<typeof AuthorizeService>;
}

/** The records that tell what ended: our own, and those of the services that own the rest. */
export interface Sources {
  families: FeedItem<RecordedRevocation>;
  directory: WatchChangesResponse;
  sessions: WatchSessionEndsResponse;
}

export interface OpenSources {
  /** Where each of them begins; everything behind it will be told. */
  readonly start: Positions;
  readonly streams: { readonly [N in keyof Sources]: AsyncIterator<Sources[N]> };
}

/**
 * Opens every record behind the positions that were asked for. Where none were: behind what was recorded before `since`
 * (seconds since the Unix epoch), or at the present where that is 0. Throws OUT_OF_RANGE when one cannot be told without
 * a gap. They end with the signal.
 */
export async function openSources(
  parts: SourceParts,
  asked: Positions | undefined,
  since: bigint,
  { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<OpenSources> {
  const call = rootCall(requestId, undefined, signal);
  const present = -1;
  const families = since > 0n ? await parts.revocations.positionBefore(Number(since)) : present;
  const behind = (position: number | undefined) =>
    position === undefined ? { since } : { afterSequence: BigInt(position) };
  const streams = {
    families: parts.revocationFeed.watch(asked?.families ?? families, signal),
    directory: iterate(parts.changes.watchChanges(behind(asked?.directory), call)),
    sessions: iterate(parts.sessions.watchSessionEnds(behind(asked?.sessions), call)),
  };
  const [first, change, end] = await Promise.all([
    opening(streams.families),
    opening(streams.directory),
    opening(streams.sessions),
  ]);
  if (first.kind !== 'position') throw new Error('the record of families did not begin with a position');
  const start = {
    families: first.sequence,
    directory: Number(change.sequence),
    sessions: Number(end.sequence),
  };
  if (asked !== undefined && !isSame(asked, start)) throw outOfRange();
  return { start, streams };
}

function iterate<T>(stream: AsyncIterable<T>): AsyncIterator<T> {
  return stream[Symbol.asyncIterator]();
}

async function opening<T>(stream: AsyncIterator<T>): Promise<T> {
  const next = await stream.next();
  if (next.done === true) throw new Error('a record ended before it began');
  return next.value;
}

function isSame(a: Positions, b: Positions): boolean {
  return a.families === b.families && a.directory === b.directory && a.sessions === b.sessions;
}
