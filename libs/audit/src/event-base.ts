import type { AuditEvent } from './audit-row.ts';

/** What every event of one change has in common. */
export type EventBase = Pick<AuditEvent, 'actor' | 'requestId'>;

/** What is known of the call that makes a change. */
interface Call {
  readonly caller: string;
  readonly requestId: string;
  /** Whom the caller acts for. */
  readonly actor?: Required<NonNullable<AuditEvent['actor']>> | undefined;
}

/** The actor is whom the caller acts for, else the caller. */
export function eventBase({ actor, caller, requestId }: Call): EventBase {
  if (actor === undefined) return { actor: { type: 'operator', id: caller }, requestId };
  const { type, id, tenantId } = actor;
  return { actor: { type, id, ...(tenantId !== '' && { tenantId }) }, requestId };
}
