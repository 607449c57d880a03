import { rootCall } from '@tessera/rpc';
import { type ChangeFeed } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';
import type { ApprovedPush } from '@tessera/proto-gen/device';
import { measured } from '../grants/exchange-metrics.ts';
import type { OneTimeParts } from '../grants/one-time-grant.ts';
import {
  exchangeForPush,
  type ExchangeContext,
  type ExchangeResult,
  type PipelineParts,
} from '../grants/pipeline.ts';
import { Refusal } from '../audit-reason.ts';
import type { RecordedRevocation, RefreshStore } from '../store/store.ts';
import { pushGrant, secretHash } from './push-grant.ts';

export interface PushParts extends PipelineParts {
  readonly oneTime: OneTimeParts;
  readonly families: Pick<RefreshStore, 'revoke'>;
  readonly revocationFeed: Pick<ChangeFeed<RecordedRevocation>, 'poke'>;
}

/** Far shorter than the lease of what was taken, so that nobody else redeems it meanwhile. */
const exchangeMs = 10_000;
const callMs = 5_000;

/**
 * Issues the tokens of a push, or says that they cannot be had (`failed`). `later`: nothing is known yet, and whoever takes
 * the push after its lease finds out.
 *
 * Who took the push before may have died after its commit, with tokens that nobody got. What stands then is revoked and
 * the push fails: never two sets of tokens. A marker that turns up only in our own commit is of somebody who may still
 * be alive with it, so it is left alone.
 */
export async function issuePush(
  parts: PushParts,
  push: ApprovedPush,
): Promise<ExchangeResult | 'failed' | 'later'> {
  const comesBack = push.attempt > 1 || push.ended;
  if (comesBack && (await endWhatStands(parts, push))) return 'failed';
  if (push.ended) return 'failed';
  const { clientId, tenantId, ipAddress, grant } = push;
  const client = { clientId, tenantId, ipAddress, issuer: grant?.issuer ?? '' };
  try {
    const exchange = exchangeForPush(parts, pushGrant(parts.oneTime, push), client, contextOf(push));
    return await measured('ciba', exchange);
  } catch (error) {
    if (isFinal(error)) return 'failed';
    parts.kit.log.warn({ err: error, requestId: push.requestId }, 'tokens to be pushed were not issued yet');
    return 'later';
  }
}

/** Whether the value was redeemed before; if so, what that started is over. */
async function endWhatStands(parts: PushParts, push: ApprovedPush): Promise<boolean> {
  const { tenantId, clientId, authReqId, requestId, ipAddress } = push;
  const value = { tenantId, clientId, kind: 'auth_req_id', hash: secretHash(authReqId) } as const;
  const familyId = await parts.oneTime.redemptions.findFamily(value);
  if (familyId === undefined) return false;
  if (familyId !== null) {
    const owner = { tenantId, clientId };
    await parts.families.revoke({ familyId, owner, reason: 'undelivered', trail: { requestId, ipAddress } });
    parts.revocationFeed.poke();
  }
  return true;
}

function contextOf({ requestId }: ApprovedPush): ExchangeContext {
  const signal = AbortSignal.timeout(exchangeMs);
  return { requestId, signal, onward: () => rootCall(requestId, callMs, signal) };
}

/** Refusals are for good; our own trouble may pass, and a replay is somebody else's exchange. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof OAuthError)) return false;
  if (error.code === 'temporarily_unavailable' || error.code === 'server_error') return false;
  return !(error.cause instanceof Refusal && error.cause.reason === 'replayed');
}
