import { auditRow, type AuditEvent } from '@tessera/audit';
import { type Runtime } from '@tessera/process';
import type { RedemptionKind, Trail } from './store.ts';

/** What is known of an event before its statement runs. */
export type About = Pick<AuditEvent, 'tenantId' | 'clientId' | 'grantId'>;

/** An audit event that is written only if the statement reaches the verdict `when`. */
export type ConditionalEvent = AuditEvent & { readonly when?: string };

const redemptionNames: Readonly<Record<RedemptionKind, { redeemed: string; replayed: string }>> = {
  authorization_code: { redeemed: 'code.redeemed', replayed: 'code.replayed' },
  device_code: { redeemed: 'device.redeemed', replayed: 'device.replayed' },
  auth_req_id: { redeemed: 'ciba.redeemed', replayed: 'ciba.replayed' },
};

export function success(event: string, about: About, trail: Trail): ConditionalEvent {
  return {
    event,
    outcome: 'success',
    ...about,
    ...(about.clientId !== undefined && { actor: { type: 'client', id: about.clientId } }),
    ...(trail.actor !== undefined && { actor: trail.actor }),
    requestId: trail.requestId,
    ...(trail.ipAddress !== '' && { ipAddress: trail.ipAddress }),
    ...(trail.details !== undefined && { details: trail.details }),
  };
}

function failure(event: string, reason: string, about: About, trail: Trail): ConditionalEvent {
  const { requestId, ipAddress } = trail;
  return { ...success(event, about, { requestId, ipAddress }), outcome: 'failure', reason };
}

export function settlementEvents(about: About, trail: Trail): ConditionalEvent[] {
  return [
    { ...success('refresh.retried', about, trail), when: 'retried' },
    { ...failure('refresh.client_mismatch', 'client_mismatch', about, trail), when: 'client_mismatch' },
    { ...failure('refresh.reuse_detected', 'reuse_detected', about, trail), when: 'reuse_detected' },
    {
      ...success('refresh.family_revoked', about, trail),
      reason: 'reuse_detected',
      when: 'reuse_detected',
    },
  ];
}

export function redemptionEvents(kind: RedemptionKind, about: About, trail: Trail): ConditionalEvent[] {
  return [success(redemptionNames[kind].redeemed, about, trail), success('token.issued', about, trail)];
}

export function replayEvents(kind: RedemptionKind, about: About, trail: Trail): ConditionalEvent[] {
  return [
    { ...failure(redemptionNames[kind].replayed, 'replayed', about, trail), when: 'always' },
    { ...success('refresh.family_revoked', about, trail), reason: 'grant_replayed', when: 'revoked' },
  ];
}

/** For each family that ends with its session. */
export function sessionEndEvents(about: About, trail: Trail): ConditionalEvent[] {
  return [{ ...success('refresh.family_revoked', about, trail), reason: 'session_ended' }];
}

/** The audit parameter of a statement: a JSON array of records, each with the verdict it is written for. */
export function auditParameter(
  runtime: Pick<Runtime, 'clock' | 'random'>,
  events: readonly ConditionalEvent[],
): string {
  const rows = events.map(
    ({ when = null, ...event }) =>
      `{"when":${JSON.stringify(when)},"record":${auditRow(event, runtime).record}}`,
  );
  return `[${rows.join(',')}]`;
}
