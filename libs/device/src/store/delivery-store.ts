import type { AuditRow } from '@tessera/audit';
import type { GrantRequest, RequestedDelivery, Trail } from '../pending-grant.ts';

/** A delivery that is written with a decision and takes its other fields from it. */
export interface NewDelivery extends RequestedDelivery {
  readonly deliveryId: string;
  /** Of the deciding call. */
  readonly trail: Trail;
}

/** The right of one process to report the result of a delivery. It is void once the delivery is claimed again. */
export interface Claim {
  readonly deliveryId: string;
  /** 1 for the first claim of a delivery and higher for each later one; never reused. */
  readonly claim: number;
}

/** A backchannel request to announce to a tenant's notification system. */
export interface NewPrompt {
  readonly deliveryId: string;
  readonly request: Pick<GrantRequest, 'tenantId' | 'clientId' | 'hash' | 'requestId'>;
  /** Empty if no user is prompted: it is stored like any other and never sent. */
  readonly userId: string;
  /** Of the call that started the request. */
  readonly trail: Trail;
  readonly remainingSeconds: number;
}

export interface Delivery extends Claim {
  /** The number of attempts, including this one. */
  readonly attempt: number;
  /** `prompt`: to the tenant's notification system; `ping`: to the client. */
  readonly mode: RequestedDelivery['mode'] | 'prompt';
  /** Encrypted for the request; empty for a prompt. */
  readonly sealed: string;
  readonly tenantId: string;
  readonly clientId: string;
  /** SHA-256 of the auth_req_id, hexadecimal. */
  readonly hash: string;
  readonly requestId: string;
  readonly userId: string;
  /** `pending`: of a prompt. */
  readonly outcome: 'approved' | 'denied' | 'pending';
  readonly trail: Trail;
  /** Seconds until delivery is abandoned; negative afterwards. */
  readonly remainingSeconds: number;
}

/** A delivery is attempted for at least this time, however late the person decided. */
export const shortestDeliverySeconds = 60;

/**
 * Pending deliveries to clients and notification systems. Those to clients are written by `DecisionStore.decide`. All
 * times are the database's. Any number of processes may claim concurrently: no delivery is claimed twice.
 */
export interface DeliveryStore {
  addPrompt(prompt: NewPrompt): Promise<void>;
  /** Claims up to `limit` due deliveries for `leaseSeconds`, except those of the client ids in `skipped`. */
  claim(limit: number, leaseSeconds: number, skipped?: readonly string[]): Promise<Delivery[]>;
  /** Makes a claimed delivery due again after a pause. */
  retry(claim: Claim, delaySeconds: number): Promise<void>;
  /** As `retry`, but the claim does not count as an attempt. */
  giveBack(claim: Claim, delaySeconds: number): Promise<void>;
  /** Removes a claimed delivery and writes its audit row, if there is one. False if the claim is void. */
  finish(claim: Claim, audit: AuditRow | undefined): Promise<boolean>;
  /** Removes up to `limit` deliveries that ended more than a day ago. Resolves with the number removed. */
  purge(limit: number): Promise<number>;
}
