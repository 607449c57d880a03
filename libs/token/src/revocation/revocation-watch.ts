import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { type Runtime } from '@tessera/process';
import { OAuthError, resourcesIn } from '@tessera/oauth';
import { ChangeKind, type WatchChangesResponse } from '@tessera/proto-gen/directory';
import { RevocationKind, type WatchRevocationsRequest } from '@tessera/proto-gen/token';
import {
  currentAccessPolicy,
  type AccessPolicy,
  type AccessPolicyDeps,
} from '../introspection/access-policy.ts';
import type { RecordedRevocation } from '../store/store.ts';
import { mergeStreams, type StreamItem } from './merge-streams.ts';
import { cursorOf, openSources, parseCursor, type SourceDeps, type Sources } from './revocation-sources.ts';
import { isHeartbeat, WatchProgress } from './watch-progress.ts';

export interface WatchDeps extends SourceDeps, Pick<AccessPolicyDeps, 'directory' | 'certificateClients'> {
  readonly runtime: Pick<Runtime, 'clock'>;
}

/** One message of the stream; without a kind it only reports the position. */
export interface RevocationMessage {
  readonly cursor: string;
  readonly kind?: RevocationKind;
  readonly tenantId?: string;
  readonly sub?: string;
  readonly clientId?: string;
  readonly sessionId?: string;
  readonly familyId?: string;
  readonly jti?: string;
  readonly endedAt?: bigint;
}

/**
 * Streams revocations: revoked refresh families and access tokens of this service, ended sessions of `authorize`, and
 * users, applications and tenants disabled in `directory`, under one cursor. Throws UNAVAILABLE as soon as one feed is
 * interrupted, so that watchers know that they may miss a revocation.
 */
export async function* watchRevocations(
  deps: WatchDeps,
  { cursor, since }: WatchRevocationsRequest,
  context: CallContext,
): AsyncGenerator<RevocationMessage, void> {
  const positions = parseCursor(cursor);
  let policy = await policyOfCall(deps, context);
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, context.signal]);
  try {
    const { requestId } = context;
    const { start, streams } = await openSources(deps, positions, since, { requestId, signal });
    yield { cursor: cursorOf(start) };
    const progress = new WatchProgress(start);
    for await (const arrived of mergeStreams<Sources>(streams)) {
      progress.advance(arrived);
      policy = await policyOfCall(deps, context);
      const revocation = revocationOf(arrived, policy);
      if (revocation !== undefined) yield { cursor: progress.cursor, ...revocation };
      else if (isHeartbeat(arrived)) yield { cursor: progress.cursor };
    }
    throw new ConnectError('A revocation feed has ended.', Code.Unavailable);
  } finally {
    stopping.abort();
  }
}

/** The access policy may change during a stream, so it is evaluated for every message. */
function policyOfCall(deps: WatchDeps, context: CallContext): Promise<AccessPolicy> {
  if (deps.runtime.clock.now() / 1000 >= (context.principal?.expiresAt ?? Infinity)) {
    throw new OAuthError('invalid_token', 'The access token has expired.');
  }
  return currentAccessPolicy(deps, context);
}

/** The message for an item; undefined if the item ends nothing or the caller may not see it. */
function revocationOf(
  arrived: StreamItem<Sources>,
  policy: AccessPolicy,
): Omit<RevocationMessage, 'cursor'> | undefined {
  if (arrived.from === 'families') {
    return arrived.item.kind === 'position' ? undefined : familyRevocation(arrived.item.change, policy);
  }
  if (!policy.allowsTenant(arrived.item.tenantId)) return undefined;
  if (arrived.from === 'directory') return directoryRevocation(arrived.item);
  const { tenantId, sessionId, userId: sub, endedAt } = arrived.item;
  return sessionId === '' ? undefined : { kind: RevocationKind.SESSION, tenantId, sub, sessionId, endedAt };
}

function familyRevocation(
  family: RecordedRevocation,
  policy: AccessPolicy,
): Omit<RevocationMessage, 'cursor'> | undefined {
  const { tenantId, clientId, userId: sub, sessionId, familyId, tokenId: jti, resource } = family;
  if (!policy.allowsRevocation({ tenantId, clientId, audiences: resourcesIn(resource) })) return undefined;
  const issued = { tenantId, sub, clientId, sessionId, endedAt: BigInt(family.endedAt) };
  if (jti !== '') return { kind: RevocationKind.ACCESS_TOKEN, jti, ...issued };
  return { kind: RevocationKind.REFRESH_FAMILY, familyId, ...issued };
}

function directoryRevocation(change: WatchChangesResponse): Omit<RevocationMessage, 'cursor'> | undefined {
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
