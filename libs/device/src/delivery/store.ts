import type { AuditRow } from '@tessera/audit';
import type { Trail } from '../audit.ts';
import type { ApprovedGrant, GrantRequest } from '../store/store.ts';

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

/** What lets one process say what became of a delivery. It is void once the delivery was claimed again, or its step is over. */
export interface Claim {
  readonly deliveryId: string;
  /** 1 for the first of a delivery, and higher with each: no other one ever has this number. */
  readonly claim: number;
}

/** A backchannel request that a tenant's notification system is to be told of. */
export interface NewPrompt {
  readonly deliveryId: string;
  readonly request: Pick<GrantRequest, 'tenantId' | 'clientId' | 'hash' | 'requestId'>;
  /** Empty when it waits for nobody: it is kept like any other and never sent. */
  readonly userId: string;
  /** Of the start. */
  readonly trail: Trail;
  readonly remainingSeconds: number;
}

export interface Delivery extends Claim {
  /** How often its present step was attempted, this time included: to have the tokens issued, or to deliver. */
  readonly attempt: number;
  /** `prompt`: to the tenant's notification system, else to the client. */
  readonly mode: DeliveryMode | 'prompt';
  /** For the request; empty for a prompt. */
  readonly sealed: string;
  readonly tenantId: string;
  readonly clientId: string;
  /** SHA-256 of the auth_req_id, hexadecimal. */
  readonly hash: string;
  readonly requestId: string;
  readonly userId: string;
  /** `failed`: approved, but no tokens can be had any more. `pending`: of a prompt. */
  readonly outcome: 'approved' | 'denied' | 'failed' | 'pending';
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
 * What systems of others are still to be told. What is for clients comes to be in `DecisionStore.decide`. All times are the
 * database's. Any number of processes may take from it at once: each gets others.
 */
export interface DeliveryStore {
  addPrompt(prompt: NewPrompt): Promise<void>;
  /**
   * Claims up to `limit` deliveries that are due, for so long that nobody else attempts them meanwhile; none of the
   * applications whose client ids are `left`. Tells besides whether approved requests wait for their tokens.
   */
  claim(
    limit: number,
    leaseSeconds: number,
    left?: readonly string[],
  ): Promise<{ due: Delivery[]; pushesWait: boolean }>;
  /** Takes up to `limit` approved requests whose tokens are to be pushed, for so long. */
  take(limit: number, leaseSeconds: number): Promise<TakenPush[]>;
  /**
   * Makes a taken push due: with its tokens, or as failed without. False when the claim is void; nothing changed then.
   */
  handOver(claim: Claim, sealedTokens: string | undefined): Promise<boolean>;
  /** Makes a claimed delivery due again after a pause. */
  retry(claim: Claim, delaySeconds: number): Promise<void>;
  /** The same for one that was not attempted: the claim does not count as an attempt. */
  giveBack(claim: Claim, delaySeconds: number): Promise<void>;
  /**
   * Removes a delivery, claimed or taken, with the audit row that says how it ended; without one where there is nothing to
   * say. False when the claim is void.
   */
  finish(claim: Claim, audit: AuditRow | undefined): Promise<boolean>;
  /**
   * Takes back a claimed push whose client did not take its tokens, with the audit row that says so: it is over, and is
   * handed out once more, for the tokens to be revoked. False when the claim is void.
   */
  withdraw(claim: Claim, audit: AuditRow): Promise<boolean>;
  /** Removes up to `limit` deliveries that ended more than a day ago. Answers how many it removed. */
  purge(limit: number): Promise<number>;
}
