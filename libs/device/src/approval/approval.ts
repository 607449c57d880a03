import type { DirectoryClient } from '@tessera/directory-client';
import { addressKey } from '@tessera/stores';
import { ulid } from '@tessera/kit';
import type { CallContext } from '@tessera/rpc';
import type { Clock, Random } from '@tessera/kit';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';
import type { ApprovalExperiences } from './experience.ts';
import type { DeviceAudit, Trail } from '../audit.ts';
import { count } from '../limits.ts';
import type {
  Decision,
  DecisionStore,
  GrantKind,
  GrantRequest,
  GrantStore,
  LivingGrant,
  Owner,
} from '../store/store.ts';

/** The signed-in person who decides. */
export interface Approver extends Owner {
  /** Seconds since the Unix epoch. */
  readonly authTime: number;
  readonly ipAddress: string;
}

export interface DecisionRequest {
  readonly kind: GrantKind;
  readonly requestId: string;
  readonly decision: Decision;
  readonly approver: Approver;
}

/** A decision by the link that a tenant's notification system got. */
export interface LinkDecision {
  readonly decisionToken: string;
  readonly decision: Decision;
  readonly ipAddress: string;
}

export interface Approvals {
  /**
   * Makes a decision durable, then tells the store that polls read. The first decision stands; deciding the same again
   * succeeds, so that a lost answer can be asked for again.
   *
   * Throws one and the same `not_found` for a request that is over or not this person's to decide in this session,
   * `invalid_request` when it was decided otherwise, `access_denied` when an approval is refused because user,
   * application or tenant is no longer active or the person may not use the application (the request is then denied),
   * `login_required` when an approval rests on a sign-in of before the application was enabled again (nothing is
   * decided), `rate_limited`.
   */
  decide(request: DecisionRequest, call: CallContext): Promise<void>;
  /**
   * Decides as the person whom the request waits for, on the word of the notification system, whose authentication of
   * them counts as being of this moment. Throws as `decide` does, and `not_found` for every link that is not good.
   */
  decideByLink(request: LinkDecision, call: CallContext): Promise<void>;
}

interface ApprovalParts {
  readonly store: GrantStore;
  readonly decisions: DecisionStore;
  readonly records: DirectoryClient;
  readonly limiter: Limiter;
  /** Decisions of one person. */
  readonly accountLimit: LimitRule;
  readonly audit: DeviceAudit;
  readonly failpoint: (name: string) => void;
  readonly experiences: ApprovalExperiences;
  readonly clock: Clock;
  readonly random: Random;
  /** Called after a decision that a client is to be told of. */
  readonly onDelivery: () => void;
}

const ofAddress = { name: 'decision.address', limit: 600, windowSeconds: 60 };

export function createApprovals(parts: ApprovalParts): Approvals {
  return {
    decide: (request, call) => decide(parts, request, call),
    decideByLink: (request, call) => decideByLink(parts, request, call),
  };
}

async function decideByLink(
  parts: ApprovalParts,
  { decisionToken, decision, ipAddress }: LinkDecision,
  call: CallContext,
): Promise<void> {
  const { store, records, experiences, clock } = parts;
  for (const [approval, experience] of experiences) {
    const requestId = experience.decidedBy?.(decisionToken);
    const grant = requestId === undefined ? undefined : await store.find(requestId);
    if (requestId === undefined || grant === undefined) continue;
    const { tenantId, clientId } = grant.request;
    const client = await records.application(clientId, call.onward());
    // The link is worth nothing once the application asks people in another way.
    if (client?.application.ciba?.approval !== approval) continue;
    const { userId } = grant.owner;
    const user = await records.user(tenantId, userId, call.onward());
    // Of this moment, so after whatever changed before it.
    const earliest = Math.max(Number(user?.validFrom ?? 0), Number(client.application.validFrom));
    const authTime = Math.max(Math.floor(clock.now() / 1000), earliest);
    const approver = { tenantId, userId, sessionId: '', authTime, ipAddress };
    return decide(parts, { kind: 'auth_req_id', requestId, decision, approver }, call);
  }
  throw notWaiting();
}

async function decide(parts: ApprovalParts, request: DecisionRequest, call: CallContext): Promise<void> {
  const { store, decisions, audit, failpoint } = parts;
  const { approver } = request;
  const trail: Trail = { requestId: call.requestId, ipAddress: approver.ipAddress };
  await countDecision(parts, approver, trail);
  const grant = await requireOwn(parts, request, trail);
  const verdict = await admissible(parts, request, grant.request, call);
  if (verdict === 'sign_in_again') {
    audit.decisionRefused(trail, grant.request, approver, 'signed_in_before');
    throw new OAuthError('login_required', 'Sign in again to approve the request.');
  }
  const { decision, reason } = verdict;
  const row = audit.decided(trail, grant.request, approver, {
    decision,
    ...(reason === undefined ? {} : { reason }),
  });
  failpoint('decision.before_commit');
  const { userId, sessionId, authTime } = approver;
  const { remainingSeconds } = grant;
  const { delivery: asked } = grant.request;
  const delivery = asked && { ...asked, deliveryId: ulid(parts.clock, parts.random), trail };
  const made = { request: grant.request, decision, userId, sessionId, authTime, remainingSeconds, delivery };
  const standing = await decisions.decide(made, row);
  failpoint('decision.after_commit');
  await store.settle(grant.request, standing.decision);
  if (delivery !== undefined) parts.onDelivery();
  if (standing.decision !== request.decision && standing.isNew) {
    throw new OAuthError('access_denied', 'The request cannot be approved.', { cause: new Error(reason) });
  }
  if (standing.decision !== request.decision || standing.userId !== userId) {
    throw new OAuthError('invalid_request', 'The request was already decided.');
  }
}

async function countDecision(
  { limiter, accountLimit, audit }: ApprovalParts,
  approver: Approver,
  trail: Trail,
): Promise<void> {
  const onLimit = (rule: string): void => audit.decisionLimited(trail, approver, rule);
  await count(limiter, ofAddress, addressKey(approver.ipAddress), onLimit);
  await count(limiter, accountLimit, `${approver.tenantId}\0${approver.userId}`, onLimit);
}

async function requireOwn(
  { store, audit }: ApprovalParts,
  { kind, requestId, approver }: DecisionRequest,
  trail: Trail,
): Promise<LivingGrant> {
  const grant = await store.find(requestId);
  if (grant === undefined || grant.request.kind !== kind) throw notWaiting();
  const foreign = foreignness(grant, approver);
  if (foreign === undefined) return grant;
  audit.decisionRefused(trail, grant.request, approver, foreign);
  throw notWaiting();
}

/** Why a request is not this person's to decide; undefined when it is. */
function foreignness({ request, owner }: LivingGrant, approver: Approver): string | undefined {
  if (request.tenantId !== approver.tenantId) return 'other_tenant';
  if (owner.userId === '' || owner.userId !== approver.userId) return 'other_person';
  // A backchannel request names a person; a device flow belongs to the session that opened it as well.
  if (request.kind === 'device_code' && owner.sessionId !== approver.sessionId) return 'other_session';
  return undefined;
}

/** The decision as it may be made: who may not approve, denies (CVE-2024-38371). */
async function admissible(
  { records }: ApprovalParts,
  { decision, approver }: DecisionRequest,
  { clientId, tenantId, kind }: GrantRequest,
  call: CallContext,
): Promise<{ decision: Decision; reason?: string } | 'sign_in_again'> {
  if (decision === 'denied') return { decision };
  const client = await records.application(clientId, call.onward());
  if (client?.tenant.tenantId !== tenantId || !records.isActive(client)) {
    return { decision: 'denied', reason: 'application_inactive' };
  }
  const grantType = kind === 'device_code' ? 'device_code' : 'ciba';
  if (!client.application.grantTypes.includes(grantType)) {
    return { decision: 'denied', reason: 'grant_type_not_allowed' };
  }
  const user = await records.user(tenantId, approver.userId, call.onward());
  if (user === undefined || !records.isActive(user, approver.authTime)) {
    return { decision: 'denied', reason: 'user_inactive' };
  }
  if (!records.mayUse(client.application, user)) return { decision: 'denied', reason: 'role_missing' };
  // Of before the application was enabled again: nothing is issued for such a sign-in, but for the next one.
  if (!records.isActive(client, approver.authTime)) return 'sign_in_again';
  return { decision };
}

function notWaiting(): OAuthError {
  return new OAuthError('not_found', 'The request is not waiting for a decision.');
}
