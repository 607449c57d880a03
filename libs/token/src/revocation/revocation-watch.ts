import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { type Kit } from '@tessera/process';
import { OAuthError } from '@tessera/oauth';
import { ChangeKind, type WatchChangesResponse } from '@tessera/proto-gen/directory';
import { RevocationKind, type WatchRevocationsRequest } from '@tessera/proto-gen/token';
import { merge, type Heard } from './merge-streams.ts';
import { cursorOf, parseCursor, type Positions } from './revocation-cursor.ts';
import { openSources, type SourceParts, type Sources } from './revocation-sources.ts';
import type { RecordedRevocation } from '../store/store.ts';
import { viewOfPrincipal, type View, type ViewParts } from '../introspection/access-policy.ts';

export interface WatchParts extends SourceParts, Pick<ViewParts, 'directory' | 'bindings'> {
  readonly kit: Pick<Kit, 'clock'>;
}

/** One message of the stream; without a kind it is a position. */
export interface RevocationMessage {
  readonly cursor: string;
  readonly kind?: RevocationKind;
  readonly tenantId?: string;
  readonly sub?: string;
  readonly clientId?: string;
  readonly sessionId?: string;
  readonly familyId?: string;
  readonly endedAt?: bigint;
}

/** Each record speaks twice a second; one that is silent for longer leaves its watchers unguarded. */
const silenceMs = 3_000;

/**
 * Tells what ended: revoked families from our own record; sessions, users, applications and tenants from the records of
 * their owners; all under one cursor. Fails with UNAVAILABLE as soon as one of them cannot be heard, so that nobody
 * feels guarded who is not.
 */
export async function* watchRevocations(
  parts: WatchParts,
  { cursor, since }: WatchRevocationsRequest,
  context: CallContext,
): AsyncGenerator<RevocationMessage, void> {
  const asked = parseCursor(cursor);
  let view = await currentView(parts, context);
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, context.signal]);
  try {
    const { requestId } = context;
    const { start, streams } = await openSources(parts, asked, since, { requestId, signal });
    yield { cursor: cursorOf(start) };
    const standing = new Standing(start, () => parts.kit.clock.now());
    for await (const heard of merge<Sources>(streams)) {
      standing.advance(heard);
      view = await currentView(parts, context);
      const ended = endOf(heard, view);
      if (ended !== undefined) yield { cursor: standing.cursor, ...ended };
      else if (standing.isBeat(heard)) yield { cursor: standing.cursor };
    }
    throw new ConnectError('The record of what ended cannot be followed any more.', Code.Unavailable);
  } finally {
    stopping.abort();
  }
}

/** A stream outlives its opening, so that what the caller may know is looked at again and again. */
function currentView(parts: WatchParts, context: CallContext): Promise<View> {
  if (parts.kit.clock.now() / 1000 >= (context.principal?.expiresAt ?? Infinity)) {
    throw new OAuthError('invalid_token', 'The access token has expired.');
  }
  return viewOfPrincipal(parts, context);
}

/** How far each record has been told, and when it was last heard of. */
class Standing {
  readonly #now: () => number;
  #positions: Positions;
  readonly #heardAt: Record<keyof Sources, number>;

  constructor(start: Positions, now: () => number) {
    this.#now = now;
    this.#positions = start;
    this.#heardAt = { families: now(), directory: now(), sessions: now() };
  }

  get cursor(): string {
    return cursorOf(this.#positions);
  }

  advance(heard: Heard<Sources>): void {
    this.#heardAt[heard.from] = this.#now();
    this.#positions = { ...this.#positions, [heard.from]: sequenceOf(heard) };
    const silent = Math.min(...Object.values(this.#heardAt)) < this.#now() - silenceMs;
    if (silent) throw new ConnectError('A record of what ended cannot be heard.', Code.Unavailable);
  }

  /** The families' record beats for all, as the others are known to be heard. */
  isBeat(heard: Heard<Sources>): boolean {
    return heard.from === 'families' && heard.item.kind === 'position';
  }
}

function sequenceOf(heard: Heard<Sources>): number {
  if (heard.from !== 'families') return Number(heard.item.sequence);
  return heard.item.kind === 'position' ? heard.item.sequence : heard.item.change.sequence;
}

/** What the caller is told of an item; undefined when that is nothing. */
function endOf(heard: Heard<Sources>, view: View): Omit<RevocationMessage, 'cursor'> | undefined {
  if (heard.from === 'families') {
    return heard.item.kind === 'position' ? undefined : familyEnd(heard.item.change, view);
  }
  if (!view.tenant(heard.item.tenantId)) return undefined;
  if (heard.from === 'directory') return recordEnd(heard.item);
  const { tenantId, sessionId, userId: sub, endedAt } = heard.item;
  return sessionId === '' ? undefined : { kind: RevocationKind.SESSION, tenantId, sub, sessionId, endedAt };
}

function familyEnd(family: RecordedRevocation, view: View): Omit<RevocationMessage, 'cursor'> | undefined {
  const { tenantId, clientId, userId: sub, sessionId, familyId, resource: audience, endedAt } = family;
  if (!view.revocation({ tenantId, clientId, audience })) return undefined;
  const kind = RevocationKind.REFRESH_FAMILY;
  return { kind, tenantId, sub, clientId, sessionId, familyId, endedAt: BigInt(endedAt) };
}

function recordEnd(change: WatchChangesResponse): Omit<RevocationMessage, 'cursor'> | undefined {
  if (!change.ended) return undefined;
  const { tenantId, id, recordedAt: endedAt } = change;
  switch (change.kind) {
    case ChangeKind.TENANT:
      return { kind: RevocationKind.TENANT, tenantId, endedAt };
    case ChangeKind.APPLICATION:
      return { kind: RevocationKind.APPLICATION, tenantId, clientId: id, endedAt };
    case ChangeKind.USER:
      return { kind: RevocationKind.SUBJECT, tenantId, sub: id, endedAt };
    default:
      return undefined;
  }
}
