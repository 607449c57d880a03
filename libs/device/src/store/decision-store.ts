import type { AuditRow } from '@tessera/audit';
import type { NewDelivery } from './delivery-store.ts';
import type { Authentication, UserGrant } from '@tessera/proto-gen/oauth';
import type { Decision, GrantKind, GrantRequest } from '../pending-grant.ts';

export interface NewDecision {
  readonly request: GrantRequest;
  readonly decision: Decision;
  readonly userId: string;
  readonly sessionId: string;
  readonly authentication: Authentication;
  /** Until the request ends. */
  readonly remainingSeconds: number;
  /** The delivery to the client, if it is notified. */
  readonly delivery?: NewDelivery | undefined;
}

export interface RecordedDecision {
  readonly decision: Decision;
  readonly userId: string;
  /** Whether this call recorded it. */
  readonly isNew: boolean;
}

export type Confirmation =
  { readonly decision: 'approved'; readonly grant: UserGrant } | { readonly decision: 'denied' } | undefined;

/** Decisions by the SHA-256 of the device_code or auth_req_id. All times are the database's. */
export interface DecisionStore {
  /**
   * Commits a decision with its delivery and audit row, unless there is one already; resolves with the recorded one.
   */
  decide(decision: NewDecision, audit: AuditRow): Promise<RecordedDecision>;
  /** The decision for this client; undefined if there is none or the request has expired. */
  confirm(
    kind: GrantKind,
    hash: string,
    client: { readonly tenantId: string; readonly clientId: string },
  ): Promise<Confirmation>;
  /** Removes up to `limit` decisions whose request ended more than a day ago. Resolves with the number removed. */
  purge(limit: number): Promise<number>;
}
