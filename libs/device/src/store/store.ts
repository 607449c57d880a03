import type { AuditRow } from '@tessera/audit';
import type { NewDelivery, RequestedDelivery } from '../delivery/store.ts';

/** Which flow a request belongs to, by the value its client polls with. */
export type GrantKind = 'device_code' | 'auth_req_id';

/** How long a request is remembered after its end, so that its client hears that it expired and not that it never was. */
export const tombstoneSeconds = 300;

/** What a client asked a person for. It never changes. */
export interface GrantRequest {
  readonly kind: GrantKind;
  /** SHA-256 of the device_code or auth_req_id, hexadecimal. */
  readonly hash: string;
  /** Names the request towards the pages; unrelated to the value the client holds. */
  readonly requestId: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Audience of the requested API scopes; empty when there are none. */
  readonly resource: string;
  readonly issuer: string;
  /** Address the request came from. */
  readonly ipAddress: string;
  /** Empty when there is none. */
  readonly bindingMessage: string;
  /** Absent: its client polls. */
  readonly delivery?: RequestedDelivery | undefined;
}

/** How fast a client may poll. */
export interface Pace {
  readonly intervalSeconds: number;
  /** What every `slow_down` adds. */
  readonly increaseSeconds: number;
}

export interface NewGrant {
  readonly request: GrantRequest;
  readonly lifetimeSeconds: number;
  readonly pace: Pace;
}

/** Who alone may decide. */
export interface Owner {
  readonly tenantId: string;
  readonly userId: string;
  /** Of a device flow, the session that opened it; empty where any session of the person will do. */
  readonly sessionId: string;
}

/** A request that is not over, whatever was decided. */
export interface LivingGrant {
  readonly request: GrantRequest;
  /** Nobody yet while both fields are empty. */
  readonly owner: Omit<Owner, 'tenantId'>;
  readonly remainingSeconds: number;
}

/** One poll of an authenticated client. Nothing but `pending` and `slow_down` changes anything. */
export type PollVerdict =
  | 'unknown'
  | 'other_client'
  /** Its client is pushed the outcome and may not ask for it. */
  | 'pushed'
  | 'expired'
  | 'pending'
  | 'slow_down'
  | 'denied'
  | 'approved';

/** Wrong user codes that are let through under one key in one window. */
export interface GuessRule {
  readonly name: 'session' | 'address' | 'global';
  readonly key: string;
  readonly limit: number;
  readonly windowSeconds: number;
}

export type Opening =
  | { readonly outcome: 'found'; readonly grant: LivingGrant }
  /** A wrong guess, and for the audit trail what was wrong with it. */
  | { readonly outcome: 'unknown' | 'other_tenant' | 'other_person' }
  | { readonly outcome: 'throttled'; readonly rule: GuessRule['name']; readonly retryAfterSeconds: number };

export type Decision = 'approved' | 'denied';

/**
 * Pending requests of both flows. They may be lost, or come back in an earlier state; nothing is granted by one alone.
 * Every operation is one atomic step.
 */
export interface GrantStore {
  /** Keeps a device flow under its user code, unless another pending one has that code. */
  startDevice(grant: NewGrant, userCodeHash: string): Promise<'started' | 'user_code_taken'>;
  /**
   * Keeps a backchannel request for a person; without a user it waits for nobody. Where `pendingLimit` requests wait
   * for that person already, it is kept waiting for nobody too, so that its client sees no difference.
   */
  startBackchannel(
    grant: NewGrant,
    userId: string | undefined,
    pendingLimit: number,
  ): Promise<'started' | 'too_many_pending'>;
  /**
   * Decides one poll. The first one is never too fast. One that is too fast adds to the interval, but never beyond what
   * a client would keep that heard of each `slow_down`, so that a lost answer puts nobody out of step for ever.
   */
  poll(
    kind: GrantKind,
    hash: string,
    client: { readonly tenantId: string; readonly clientId: string },
  ): Promise<PollVerdict>;
  /**
   * Finds a pending device flow by its user code, for `owner` or, while nobody is signed in, for nobody. The first
   * person to open it becomes its owner, in the session they opened it in last. Whatever is not found counts as a wrong
   * guess under every rule; under a rule that is used up nothing is looked up.
   */
  open(userCodeHash: string, owner: Owner | undefined, rules: readonly GuessRule[]): Promise<Opening>;
  find(requestId: string): Promise<LivingGrant | undefined>;
  /** The backchannel requests that wait for a person, those that end first in front. */
  waitingFor(tenantId: string, userId: string): Promise<LivingGrant[]>;
  /** Tells what was durably decided. A device flow can no longer be opened, a request no longer waits. */
  settle(request: Pick<GrantRequest, 'kind' | 'hash'>, decision: Decision): Promise<void>;
}

/** What a person granted. */
export interface ApprovedGrant {
  readonly userId: string;
  readonly scopes: string[];
  readonly resource: string;
  /** Seconds since the Unix epoch. */
  readonly authTime: number;
  readonly sessionId: string;
  readonly issuer: string;
}

export interface NewDecision {
  readonly request: GrantRequest;
  readonly decision: Decision;
  readonly userId: string;
  readonly sessionId: string;
  readonly authTime: number;
  /** Until the request ends. */
  readonly remainingSeconds: number;
  /** What its client is to be told, if that is asked for. */
  readonly delivery?: NewDelivery | undefined;
}

export interface StandingDecision {
  readonly decision: Decision;
  readonly userId: string;
  /** Whether this very call made it. */
  readonly isNew: boolean;
}

export type Confirmation =
  | { readonly decision: 'approved'; readonly grant: ApprovedGrant }
  | { readonly decision: 'denied' }
  | undefined;

/** Decisions by the SHA-256 of what the client polls with. All times are the database's. */
export interface DecisionStore {
  /** Writes a decision with its delivery and audit row in one commit, unless there is one; answers the one that stands. */
  decide(decision: NewDecision, audit: AuditRow): Promise<StandingDecision>;
  /** What was decided for this client; undefined when nothing was, or the request ended. */
  confirm(
    kind: GrantKind,
    hash: string,
    client: { readonly tenantId: string; readonly clientId: string },
  ): Promise<Confirmation>;
  /** Removes up to `limit` decisions whose request ended more than a day ago. Answers how many it removed. */
  purge(limit: number): Promise<number>;
}
