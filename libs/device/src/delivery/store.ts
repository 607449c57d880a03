import type { AuditRow } from '@tessera/kit';
import type { Trail } from '../audit.ts';
import type { ApprovedGrant } from '../store.ts';

/** How clients get their tokens besides `poll` (CIBA Core §5). */
export type DeliveryMode = 'ping' | 'push';

/** What the client of a backchannel request asked for when it started it. */
export interface RequestedDelivery {
  readonly mode: DeliveryMode;
  /** The auth_req_id and the client_notification_token, sealed for the request. */
  readonly sealed: string;
}

/** A delivery that is written with a decision; the rest of it is the decision's. */
export interface NewDelivery extends RequestedDelivery {
  readonly deliveryId: string;
  /** Of the call that decided. */
  readonly trail: Trail;
}

/** One attempt of one process. It is void once another process has taken the delivery. */
export interface Claim {
  readonly deliveryId: string;
  /** 1 for the first. */
  readonly attempt: number;
}

export interface Delivery extends Claim, RequestedDelivery {
  readonly tenantId: string;
  readonly clientId: string;
  /** SHA-256 of the auth_req_id, hexadecimal. */
  readonly hash: string;
  readonly requestId: string;
  readonly userId: string;
  /** `failed`: approved, but no tokens can be had any more. */
  readonly outcome: 'approved' | 'denied' | 'failed';
  /** Sealed for the delivery; undefined where no tokens are delivered. */
  readonly sealedTokens: string | undefined;
  readonly trail: Trail;
  /** Until nothing is tried any more; negative after it. */
  readonly remainingSeconds: number;
}

/** An approved request whose tokens are to be pushed. */
export interface TakenPush extends Delivery {
  readonly grant: ApprovedGrant;
}

/** However late a person decides, a client is told for at least so long. */
export const shortestDeliverySeconds = 60;

/**
 * What clients are still to be told. Deliveries come to be in `DecisionStore.decide`. All times are the database's. Any number of
 * processes may take from it at once: each gets others.
 */
export interface DeliveryStore {
  /**
   * Claims up to `limit` deliveries that are due, for so long that nobody else attempts them meanwhile. Tells besides
   * whether approved requests wait for their tokens.
   */
  claim(limit: number, leaseSeconds: number): Promise<{ due: Delivery[]; pushesWait: boolean }>;
  /** Takes up to `limit` approved requests whose tokens are to be pushed, for so long. */
  take(limit: number, leaseSeconds: number): Promise<TakenPush[]>;
  /**
   * Makes a taken push due: with its tokens, or as failed without. False when the claim is void; nothing changed then.
   */
  handOver(claim: Claim, sealedTokens: string | undefined): Promise<boolean>;
  /** Makes a claimed delivery due again after a pause. */
  retry(claim: Claim, delaySeconds: number): Promise<void>;
  /** Removes a delivery, claimed or taken, with the audit row that says how it ended. False when the claim is void. */
  finish(claim: Claim, audit: AuditRow): Promise<boolean>;
  /** Removes up to `limit` deliveries that ended more than a day ago. Answers how many it removed. */
  purge(limit: number): Promise<number>;
}
