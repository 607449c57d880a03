import { rootCall } from '@tessera/rpc';
import { type ChangeFeed } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';
import type { ApprovedPush } from '@tessera/proto-gen/device';
import type { OneTimeDeps } from '../pipeline/one-time-redemption.ts';
import {
  exchangeForPush,
  type ExchangeContext,
  type TokenResponse,
  type PipelineDeps,
} from '../pipeline/pipeline.ts';
import { auditReasonOf } from '../audit.ts';
import type { RecordedRevocation, RefreshStore } from '../store/store.ts';
import { userGrantOf } from '../pipeline/flat-grants.ts';
import { pushGrant, secretHash } from './push-grant.ts';

export interface PushDeps extends PipelineDeps {
  readonly oneTime: OneTimeDeps;
  readonly families: Pick<RefreshStore, 'revoke'>;
  readonly revocationFeed: Pick<ChangeFeed<RecordedRevocation>, 'poke'>;
}

/** Far shorter than the lease of a push, so that no other process redeems it meanwhile. */
const exchangeMs = 10_000;
const callMs = 5_000;

/**
 * Issues the tokens of a push. `failed`: they cannot be issued. `later`: the outcome is not known, and the process that takes
 * the push after its lease decides.
 *
 * A process that took the push before may have ended after its commit, without delivering the tokens. They are revoked and
 * the push fails, so that there are never two sets of tokens. A marker that first appears at our own commit belongs to a process
 * that may still deliver, so its tokens are left alone.
 */
export async function issuePushedTokens(
  deps: PushDeps,
  push: ApprovedPush,
): Promise<TokenResponse | 'failed' | 'later'> {
  const takenBefore = push.attempt > 1 || push.ended;
  if (takenBefore && (await revokeUndelivered(deps, push))) return 'failed';
  if (push.ended) return 'failed';
  const { clientId, tenantId, ipAddress } = push;
  const client = { clientId, tenantId, ipAddress, issuer: userGrantOf(push, push)?.issuer ?? '' };
  try {
    return await exchangeForPush(deps, pushGrant(deps.oneTime, push), client, contextOf(push));
  } catch (error) {
    if (isFinal(error)) return 'failed';
    deps.runtime.log.warn({ err: error, requestId: push.requestId }, 'tokens of a push not issued yet');
    return 'later';
  }
}

/** Resolves with whether the request was redeemed before; if so, the refresh family of that redemption is revoked. */
async function revokeUndelivered(deps: PushDeps, push: ApprovedPush): Promise<boolean> {
  const { tenantId, clientId, authReqId, requestId, ipAddress } = push;
  const value = { tenantId, clientId, kind: 'auth_req_id', hash: secretHash(authReqId) } as const;
  const familyId = await deps.oneTime.redemptions.findFamily(value);
  if (familyId === undefined) return false;
  if (familyId !== null) {
    const owner = { tenantId, clientId };
    await deps.families.revoke({ familyId, owner, reason: 'undelivered', trail: { requestId, ipAddress } });
    deps.revocationFeed.poke();
  }
  return true;
}

function contextOf({ requestId }: ApprovedPush): ExchangeContext {
  const signal = AbortSignal.timeout(exchangeMs);
  return { requestId, signal, onward: () => rootCall(requestId, callMs, signal) };
}

/** Protocol errors are final; server errors may pass, and after a replay another process decides. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof OAuthError)) return false;
  if (error.code === 'temporarily_unavailable' || error.code === 'server_error') return false;
  return auditReasonOf(error) !== 'replayed';
}
