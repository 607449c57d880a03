import { Code, ConnectError, rootCall } from '@tessera/rpc';
import { type ChangeFeed, type FeedItem } from '@tessera/stores';
import type { Client } from '@tessera/rpc';
import type { AuthorizeService, WatchSessionEndsResponse } from '@tessera/proto-gen/authorize';
import type { DirectoryService, WatchChangesResponse } from '@tessera/proto-gen/directory';
import type { RecordedRevocation, RevocationStore } from '../store/store.ts';

export interface SourceDeps {
  readonly revocations: RevocationStore;
  readonly revocationFeed: ChangeFeed<RecordedRevocation>;
  readonly changes: Client<typeof DirectoryService>;
  readonly sessions: Client<typeof AuthorizeService>;
}

/** The feeds that make up a revocation watch: revoked refresh families, directory changes, ended sessions. */
export interface Sources {
  families: FeedItem<RecordedRevocation>;
  directory: WatchChangesResponse;
  sessions: WatchSessionEndsResponse;
}

/** The position of a watch in each feed. */
export interface Positions {
  readonly families: number;
  readonly directory: number;
  readonly sessions: number;
}

const cursorFormat = /^1\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/;

/** The cursor of a position. It is opaque to callers, who send it back unchanged. */
export function cursorOf({ families, directory, sessions }: Positions): string {
  return `1.${families}.${directory}.${sessions}`;
}

/** The position of a cursor; undefined for an empty one. Throws INVALID_ARGUMENT if the cursor is malformed. */
export function parseCursor(cursor: string): Positions | undefined {
  if (cursor === '') return undefined;
  const [whole, families, directory, sessions] = cursorFormat.exec(cursor) ?? [];
  if (whole === undefined) throw new ConnectError('The cursor is not valid.', Code.InvalidArgument);
  return { families: Number(families), directory: Number(directory), sessions: Number(sessions) };
}

export interface OpenSources {
  /** The positions after which the streams deliver everything. */
  readonly start: Positions;
  readonly streams: { readonly [N in keyof Sources]: AsyncIterator<Sources[N]> };
}

/**
 * Opens every feed after the given positions; without positions, at `since` (seconds since the Unix epoch), or at the
 * present if that is 0. Throws OUT_OF_RANGE if a feed no longer has everything after its position. The streams end with
 * the signal.
 */
export async function openSources(
  deps: SourceDeps,
  positions: Positions | undefined,
  since: bigint,
  { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<OpenSources> {
  const call = rootCall(requestId, undefined, signal);
  const present = -1;
  const families = since > 0n ? await deps.revocations.positionBefore(Number(since)) : present;
  const after = (position: number | undefined) =>
    position === undefined ? { since } : { afterSequence: BigInt(position) };
  const streams = {
    families: deps.revocationFeed.watch(positions?.families ?? families, signal),
    directory: iterate(deps.changes.watchChanges(after(positions?.directory), call)),
    sessions: iterate(deps.sessions.watchSessionEnds(after(positions?.sessions), call)),
  };
  const [family, change, session] = await Promise.all([
    firstOf(streams.families),
    firstOf(streams.directory),
    firstOf(streams.sessions),
  ]);
  if (family.kind !== 'position')
    throw new Error('the feed of refresh families did not start with a position');
  const start = {
    families: family.sequence,
    directory: Number(change.sequence),
    sessions: Number(session.sequence),
  };
  if (positions !== undefined && !isSame(positions, start)) {
    throw new ConnectError('The cursor is too old. Start again without one.', Code.OutOfRange);
  }
  return { start, streams };
}

function iterate<T>(stream: AsyncIterable<T>): AsyncIterator<T> {
  return stream[Symbol.asyncIterator]();
}

async function firstOf<T>(stream: AsyncIterator<T>): Promise<T> {
  const next = await stream.next();
  if (next.done === true) throw new Error('a feed ended before its first message');
  return next.value;
}

function isSame(a: Positions, b: Positions): boolean {
  return a.families === b.families && a.directory === b.directory && a.sessions === b.sessions;
}
