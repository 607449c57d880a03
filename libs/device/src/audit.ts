import { auditRow, refusalDetails } from '@tessera/audit';
import type { AuditBatch, AuditEvent, AuditRow, EventBase } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import { ClientRefusal } from '@tessera/directory-client';
import type { OAuthError } from '@tessera/oauth';
import type { Delivery } from './store/delivery-store.ts';
import { reference } from './digest.ts';
import type { FailureRule } from './store/grant-store.ts';
import type { Decision, GrantKind, GrantRequest, Owner, Trail } from './pending-grant.ts';

/** A client that starts a flow; its tenant once it is known. */
export interface RequestingClient {
  readonly kind: GrantKind;
  readonly clientId: string;
  readonly tenantId?: string;
}

/** Why no user is prompted for a backchannel request. Only the beginning of the hint's digest is recorded. */
export interface Unprompted {
  readonly reason: 'unknown_user' | 'inactive_user' | 'role_missing' | 'too_many_pending';
  readonly hintReference: string;
}

/**
 * The audit events of this service. A decision's row is committed with the decision; events without a durable change go
 * to the batch.
 */
export interface DeviceAudit {
  started(trail: Trail, request: GrantRequest, subject: string | undefined): void;
  /** The client does not learn of this. */
  unprompted(trail: Trail, request: GrantRequest, unprompted: Unprompted): void;
  /** The end of a delivery; `reason` says why it failed. */
  delivered(delivery: Delivery, reason: string | undefined): AuditRow;
  startRefused(trail: Trail, client: RequestingClient, error: OAuthError): void;
  limited(trail: Trail, client: RequestingClient, rule: string): void;
  userCodeFailed(trail: Trail, owner: Owner | undefined, reason: string): void;
  userCodeThrottled(trail: Trail, owner: Owner | undefined, rule: FailureRule['name']): void;
  decisionLimited(trail: Trail, approver: Owner, rule: string): void;
  /** A person tried to decide a request that is not theirs, or may not approve it. */
  decisionRefused(trail: Trail, request: GrantRequest, approver: Owner, reason: string): void;
  decided(
    trail: Trail,
    request: GrantRequest,
    approver: Owner,
    made: { readonly decision: Decision; readonly reason?: string },
  ): AuditRow;
  /** An administrator denied it in place of its person. */
  cancelled(by: EventBase, request: GrantRequest, subject: string): AuditRow;
}

const flowOf: Readonly<Record<GrantKind, string>> = { device_code: 'device', auth_req_id: 'ciba' };

export function createDeviceAudit(
  batch: Pick<AuditBatch, 'add'>,
  runtime: { readonly clock: Clock; readonly random: Random },
): DeviceAudit {
  return {
    ...startEvents(batch),
    ...personEvents(batch),
    delivered(delivery, reason) {
      const event: AuditEvent = {
        event: 'ciba.notified',
        outcome: reason === undefined ? 'success' : 'failure',
        ...(reason === undefined ? {} : { reason }),
        ...delivery.trail,
        ...about(delivery),
        subject: delivery.userId,
        details: { delivery: delivery.mode, status: delivery.outcome, attempts: String(delivery.attempt) },
      };
      return auditRow(event, runtime);
    },
    decided(trail, request, approver, { decision, reason }) {
      const event: AuditEvent = {
        event: `${flowOf[request.kind]}.${decision}`,
        outcome: 'success',
        ...(reason === undefined ? {} : { reason }),
        ...trail,
        ...about(request),
        ...person(approver),
        details: { scope: request.scopes.join(' '), audience: request.resource },
      };
      return auditRow(event, runtime);
    },
    cancelled(by, request, subject) {
      const event: AuditEvent = {
        event: `${flowOf[request.kind]}.denied`,
        outcome: 'success',
        reason: 'cancelled',
        ...by,
        ...about(request),
        subject,
      };
      return auditRow(event, runtime);
    },
  };
}

function startEvents(batch: Pick<AuditBatch, 'add'>) {
  return {
    started(trail: Trail, request: GrantRequest, subject: string | undefined): void {
      batch.add({
        event: `${flowOf[request.kind]}.started`,
        outcome: 'success',
        ...trail,
        ...about(request),
        actor: { type: 'client', id: request.clientId },
        ...(subject === undefined ? {} : { subject }),
        details: { scope: request.scopes.join(' '), audience: request.resource },
      });
    },
    unprompted(trail: Trail, request: GrantRequest, { reason, hintReference }: Unprompted): void {
      batch.add({
        event: `${flowOf[request.kind]}.rejected`,
        outcome: 'failure',
        reason,
        ...trail,
        ...about(request),
        actor: { type: 'client', id: request.clientId },
        details: { login_hint_hash: hintReference },
      });
    },
    startRefused(trail: Trail, client: RequestingClient, error: OAuthError): void {
      const { code, cause, refusal } = error;
      const event = code === 'invalid_client' ? 'client.auth_failed' : `${flowOf[client.kind]}.rejected`;
      const refused = cause instanceof ClientRefusal ? cause : undefined;
      const reason = refused?.reason ?? code;
      const tenantId = client.tenantId ?? refused?.tenantId;
      const who = ofRequestingClient({ ...client, ...(tenantId !== undefined && { tenantId }) });
      batch.add({ event, outcome: 'failure', reason, ...trail, ...who, ...refusalDetails(refusal) });
    },
    limited(trail: Trail, client: RequestingClient, rule: string): void {
      batch.add({
        event: 'ratelimit.exceeded',
        outcome: 'failure',
        reason: rule,
        ...trail,
        ...ofRequestingClient(client),
      });
    },
  };
}

function personEvents(batch: Pick<AuditBatch, 'add'>) {
  const failure = (event: string, reason: string, trail: Trail, rest: Partial<AuditEvent>): void =>
    batch.add({ event, outcome: 'failure', reason, ...trail, ...rest });
  return {
    userCodeFailed(trail: Trail, owner: Owner | undefined, reason: string): void {
      failure('device.user_code.failed', reason, trail, owner === undefined ? {} : person(owner));
    },
    userCodeThrottled(trail: Trail, owner: Owner | undefined, rule: FailureRule['name']): void {
      failure('device.user_code.throttled', rule, trail, owner === undefined ? {} : person(owner));
    },
    decisionLimited(trail: Trail, approver: Owner, rule: string): void {
      failure('ratelimit.exceeded', rule, trail, person(approver));
    },
    decisionRefused(trail: Trail, request: GrantRequest, approver: Owner, reason: string): void {
      const { sessionId, userId, tenantId } = approver;
      const who = { actor: { type: 'user', id: userId }, subject: userId, sessionId } as const;
      if (request.tenantId === tenantId) {
        failure(`${flowOf[request.kind]}.decision_refused`, reason, trail, { ...about(request), ...who });
        return;
      }
      // A row in each tenant, as its administrators read it: none tells them of the other.
      failure('tenant.cross_access_denied', reason, trail, about(request));
      failure('tenant.cross_access_denied', reason, trail, { tenantId, ...who });
    },
  };
}

function about({ tenantId, clientId, hash }: Pick<GrantRequest, 'tenantId' | 'clientId' | 'hash'>) {
  return { tenantId, clientId, grantId: reference(hash) };
}

function person({ tenantId, userId, sessionId }: Owner) {
  return { tenantId, sessionId, subject: userId, actor: { type: 'user', id: userId } } as const;
}

/** The identifier is unverified input; the audit library keeps it short and printable. */
function ofRequestingClient({ clientId, tenantId }: RequestingClient) {
  return {
    clientId,
    actor: { type: 'client', id: clientId },
    ...(tenantId === undefined ? {} : { tenantId }),
  } as const;
}
