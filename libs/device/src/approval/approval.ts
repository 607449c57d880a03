import { eventBase, type AuditRow } from '@tessera/audit';
import type { DirectoryClient } from '@tessera/directory-client';
import { addressKey } from '@tessera/stores';
import { ulid } from '@tessera/kit';
import type { CallContext } from '@tessera/rpc';
import type { Clock, Random } from '@tessera/kit';
import type { Limiter, LimitRule } from '@tessera/stores';
import { meetsPolicy, OAuthError } from '@tessera/oauth';
import { AuthenticationSchema, type Authentication } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import type { ApprovalChannels } from './approval-channel.ts';
import type { DeviceAudit } from '../audit.ts';
import { count } from '../limits.ts';
import type { GrantStore, ActiveGrant } from '../store/grant-store.ts';
import type { Decision, GrantKind, GrantRequest, Owner, Trail } from '../pending-grant.ts';
import type { DecisionStore } from '../store/decision-store.ts';

/** The signed-in person who decides. */
export interface Approver extends Owner {
  readonly authentication: Authentication;
  readonly ipAddress: string;
}

export interface DecisionRequest {
  readonly kind: GrantKind;
  readonly requestId: string;
  readonly decision: Decision;
  readonly approver: Approver;
}

/** A decision by the link that a tenant's notification system received. */
export interface LinkDecision {
  readonly decisionToken: string;
  readonly decision: Decision;
  readonly ipAddress: string;
}

export interface Approvals {
  /**
   * Commits a decision, then updates the state that polls read. The first decision is final; the same decision again
   * succeeds, so that a client can repeat a call whose answer was lost.
   *
   * Throws the same `not_found` for a request that has ended and for one that this person may not decide in this
   * session; `invalid_request` if it was decided differently; `access_denied` if an approval is refused because user,
   * application or tenant is no longer active or the person may not use the application (the request is then denied);
   * `login_required` if the sign-in is older than the application's last activation, or has fewer factors than its
   * policy asks for (nothing is decided); `rate_limited`.
   */
  decide(request: DecisionRequest, call: CallContext): Promise<void>;
  /**
   * Decides for the person whom the request is for. The notification system has authenticated them, which counts as a
   * sign-in at this moment. Throws as `decide` does, and `not_found` for every invalid link.
   */
  decideByLink(request: LinkDecision, call: CallContext): Promise<void>;
  /**
   * Denies a backchannel request of a tenant in place of its person. Throws `not_found` unless it waits for somebody.
   */
  cancel(request: Pick<GrantRequest, 'tenantId' | 'requestId'>, call: CallContext): Promise<void>;
}

interface ApprovalDeps {
  readonly store: GrantStore;
  readonly decisions: DecisionStore;
  readonly directory: DirectoryClient;
  readonly limiter: Limiter;
  /** Decisions per person. */
  readonly accountLimit: LimitRule;
  readonly audit: DeviceAudit;
  readonly failpoint: (name: string) => void;
  readonly channels: ApprovalChannels;
  readonly clock: Clock;
  readonly random: Random;
  /** Called after a decision that is to be delivered to a client. */
  readonly onDelivery: () => void;
}

const ofAddress = { name: 'decision.address', limit: 600, windowSeconds: 60 };

export function createApprovals(deps: ApprovalDeps): Approvals {
  return {
    decide: (request, call) => decide(deps, request, call),
    decideByLink: (request, call) => decideByLink(deps, request, call),
    cancel: (request, call) => cancel(deps, request, call),
  };
}

async function decideByLink(
  deps: ApprovalDeps,
  { decisionToken, decision, ipAddress }: LinkDecision,
  call: CallContext,
): Promise<void> {
  const { store, directory, channels, clock } = deps;
  for (const [approval, channel] of channels) {
    const requestId = channel.decidedBy?.(decisionToken);
    const grant = requestId === undefined ? undefined : await store.find(requestId);
    if (requestId === undefined || grant === undefined) continue;
    const { tenantId, clientId } = grant.request;
    const client = await directory.application(clientId, call.onward());
    // A link is invalid once the application uses another approval channel.
    if (client?.application.ciba?.approval !== approval) continue;
    const { userId } = grant.owner;
    const user = await directory.user(tenantId, userId, call.onward());
    // A sign-in at this moment is later than every change so far, also if clocks differ.
    const earliest = Math.max(Number(user?.validFrom ?? 0), Number(client.application.validFrom));
    const time = Math.max(Math.floor(clock.now() / 1000), earliest);
    // How the notification system identified the person is not known.
    const authentication = create(AuthenticationSchema, { time });
    const approver = { tenantId, userId, sessionId: '', authentication, ipAddress };
    return decide(deps, { kind: 'auth_req_id', requestId, decision, approver }, call);
  }
  throw notPending();
}

async function decide(deps: ApprovalDeps, request: DecisionRequest, call: CallContext): Promise<void> {
  const { audit } = deps;
  const { approver } = request;
  const trail: Trail = { requestId: call.requestId, ipAddress: approver.ipAddress };
  await countDecision(deps, approver, trail);
  const grant = await requireOwn(deps, request, trail);
  const verdict = await admissible(deps, request, grant.request, call);
  if (typeof verdict === 'string') {
    audit.decisionRefused(trail, grant.request, approver, verdict);
    throw new OAuthError('login_required', 'Sign in again to approve the request.');
  }
  const { decision, reason } = verdict;
  const row = audit.decided(trail, grant.request, approver, {
    decision,
    ...(reason === undefined ? {} : { reason }),
  });
  const recorded = await commit(deps, grant, { decision, by: approver, trail, row });
  if (recorded.decision !== request.decision && recorded.isNew) {
    throw new OAuthError('access_denied', 'The request cannot be approved.', { cause: new Error(reason) });
  }
  if (recorded.decision !== request.decision || recorded.userId !== approver.userId) {
    throw new OAuthError('invalid_request', 'The request was already decided.');
  }
}

async function cancel(
  deps: ApprovalDeps,
  { tenantId, requestId }: Pick<GrantRequest, 'tenantId' | 'requestId'>,
  call: CallContext,
): Promise<void> {
  const grant = await deps.store.find(requestId);
  if (grant?.request.tenantId !== tenantId || grant.request.kind !== 'auth_req_id') throw notPending();
  if (grant.owner.userId === '') throw notPending();
  const row = deps.audit.cancelled(eventBase(call), grant.request, grant.owner.userId);
  const by = { ...grant.owner, sessionId: '', authentication: create(AuthenticationSchema) };
  const trail: Trail = { requestId: call.requestId, ipAddress: '' };
  const recorded = await commit(deps, grant, { decision: 'denied', by, trail, row });
  if (!recorded.isNew) throw notPending();
}

/** Commits a decision, with what its client is to be told of it; then polls see it. */
async function commit(
  { store, decisions, failpoint, clock, random, onDelivery }: ApprovalDeps,
  { request, remainingSeconds }: ActiveGrant,
  made: {
    readonly decision: Decision;
    readonly by: Pick<Approver, 'userId' | 'sessionId' | 'authentication'>;
    readonly trail: Trail;
    readonly row: AuditRow;
  },
): ReturnType<DecisionStore['decide']> {
  const { decision, by, trail, row } = made;
  failpoint('decision.before_commit');
  const { userId, sessionId, authentication } = by;
  const who = { userId, sessionId, authentication };
  const delivery = request.delivery && { ...request.delivery, deliveryId: ulid(clock, random), trail };
  const recorded = await decisions.decide({ request, decision, ...who, remainingSeconds, delivery }, row);
  failpoint('decision.after_commit');
  await store.settle(request, recorded.decision);
  if (delivery !== undefined) onDelivery();
  return recorded;
}

async function countDecision(
  { limiter, accountLimit, audit }: ApprovalDeps,
  approver: Approver,
  trail: Trail,
): Promise<void> {
  const onLimit = (rule: string): void => audit.decisionLimited(trail, approver, rule);
  await count(limiter, ofAddress, addressKey(approver.ipAddress), onLimit);
  await count(limiter, accountLimit, `${approver.tenantId}\0${approver.userId}`, onLimit);
}

async function requireOwn(
  { store, audit }: ApprovalDeps,
  { kind, requestId, approver }: DecisionRequest,
  trail: Trail,
): Promise<ActiveGrant> {
  const grant = await store.find(requestId);
  if (grant === undefined || grant.request.kind !== kind) throw notPending();
  const foreign = ownershipMismatch(grant, approver);
  if (foreign === undefined) return grant;
  audit.decisionRefused(trail, grant.request, approver, foreign);
  throw notPending();
}

/** Why a person may not decide a request; undefined if they may. */
function ownershipMismatch({ request, owner }: ActiveGrant, approver: Approver): string | undefined {
  if (request.tenantId !== approver.tenantId) return 'other_tenant';
  if (owner.userId === '' || owner.userId !== approver.userId) return 'other_person';
  // A backchannel request belongs to a person; a device flow also to the session that opened it.
  if (request.kind === 'device_code' && owner.sessionId !== approver.sessionId) return 'other_session';
  return undefined;
}

/** The permitted decision: if the person may not approve, an approval becomes a refusal (CVE-2024-38371). */
async function admissible(
  { directory }: ApprovalDeps,
  { decision, approver }: DecisionRequest,
  { clientId, tenantId, kind }: GrantRequest,
  call: CallContext,
): Promise<{ decision: Decision; reason?: string } | 'signed_in_before' | 'too_few_factors'> {
  if (decision === 'denied') return { decision };
  const client = await directory.application(clientId, call.onward());
  if (client?.tenant.tenantId !== tenantId || !directory.isActive(client)) {
    return { decision: 'denied', reason: 'application_inactive' };
  }
  const grantType = kind === 'device_code' ? 'device_code' : 'ciba';
  if (!client.application.grantTypes.includes(grantType)) {
    return { decision: 'denied', reason: 'grant_type_not_allowed' };
  }
  const user = await directory.user(tenantId, approver.userId, call.onward());
  if (user === undefined || !directory.isActive(user, approver.authentication.time)) {
    return { decision: 'denied', reason: 'user_inactive' };
  }
  if (!directory.mayUse(client.application, user)) return { decision: 'denied', reason: 'role_missing' };
  // The sign-in is older than the application's last activation, or by too few factors: nothing is issued for it, but a
  // new one will do.
  if (!directory.isActive(client, approver.authentication.time)) return 'signed_in_before';
  if (!meetsPolicy(client.application.authenticationPolicy, approver.authentication.methods))
    return 'too_few_factors';
  return { decision };
}

function notPending(): OAuthError {
  return new OAuthError('not_found', 'The request is not waiting for a decision.');
}
