import type { Decision, GrantKind, GrantRequest, Owner } from '../pending-grant.ts';

/** How long a request is kept after its end, so that its client gets `expired_token` instead of `invalid_grant`. */
export const tombstoneSeconds = 300;

/** How fast a client may poll. */
export interface Pace {
  readonly intervalSeconds: number;
  /** Added by every `slow_down`. */
  readonly increaseSeconds: number;
}

export interface NewGrant {
  readonly request: GrantRequest;
  readonly lifetimeSeconds: number;
  readonly pace: Pace;
}

/** A request that has not expired, decided or not. */
export interface ActiveGrant {
  readonly request: GrantRequest;
  /** Both fields are empty as long as there is no owner. */
  readonly owner: Omit<Owner, 'tenantId'>;
  readonly remainingSeconds: number;
}

/** The result of one poll of an authenticated client. Only `pending` and `slow_down` change the record. */
export type PollVerdict =
  'unknown' | 'other_client' | 'expired' | 'pending' | 'slow_down' | 'denied' | 'approved';

/** The number of wrong user codes allowed under one key in one window. */
export interface FailureRule {
  readonly name: 'session' | 'person' | 'person_day' | 'address' | 'global';
  readonly key: string;
  readonly limit: number;
  readonly windowSeconds: number;
}

export type Opening =
  | { readonly outcome: 'found'; readonly grant: ActiveGrant }
  /** A wrong user code, with the reason for the audit trail. */
  | { readonly outcome: 'unknown' | 'other_tenant' | 'other_person' }
  | { readonly outcome: 'throttled'; readonly rule: FailureRule['name']; readonly retryAfterSeconds: number };

/**
 * Pending requests of both flows. A record may be lost or return to an earlier state, so it alone never grants
 * anything. Every operation is atomic.
 */
export interface GrantStore {
  /** Stores a device flow under its user code, unless another pending one has that code. */
  startDevice(grant: NewGrant, userCodeHash: string): Promise<'started' | 'user_code_taken'>;
  /**
   * Stores a backchannel request for a person, or for none if there is no user. If the person already has
   * `pendingLimit` pending requests, it is stored for none too, so that the client sees no difference. Requests of
   * authenticated clients and of all others are counted separately.
   */
  startBackchannel(
    grant: NewGrant,
    userId: string | undefined,
    pendingLimit: number,
  ): Promise<'started' | 'too_many_pending'>;
  /**
   * Records one poll. The first one is never too fast. One that is too fast lengthens the interval, but never beyond
   * the interval of a client that saw every `slow_down`, so that a client recovers from a lost answer.
   */
  poll(
    kind: GrantKind,
    hash: string,
    client: { readonly tenantId: string; readonly clientId: string },
  ): Promise<PollVerdict>;
  /**
   * Finds a pending device flow by its user code, for `owner` or, if nobody is signed in, without one. The first person
   * to open it becomes its owner, in the session that opened it last. A code that is not found counts as a failure
   * under every rule; once a rule's limit is reached, nothing is looked up.
   */
  open(userCodeHash: string, owner: Owner | undefined, rules: readonly FailureRule[]): Promise<Opening>;
  find(requestId: string): Promise<ActiveGrant | undefined>;
  /** The pending backchannel requests of a person, the first to expire first. */
  pendingOf(tenantId: string, userId: string): Promise<ActiveGrant[]>;
  /** Records a committed decision. The request is no longer pending and its user code no longer valid. */
  settle(request: Pick<GrantRequest, 'kind' | 'hash'>, decision: Decision): Promise<void>;
}
