/**
 * What the token service asks of its stores, in its own words. Times are the store's own; trouble with the store is
 * thrown as `temporarily_unavailable`; losing a race is a result. Every change of state leaves its audit rows in the
 * same commit.
 */
import type { FeedStore, Sequenced } from '@tessera/stores';

/** Who caused a change, for the audit rows written with it. */
export interface Trail {
  readonly requestId: string;
  /** Address of the outside caller; empty when unknown. */
  readonly ipAddress: string;
  /** More facts for the audit row of a delivered token, for example its `jti`. */
  readonly details?: Readonly<Record<string, string>>;
}

/** What a family stands for; fixed when it starts. */
export interface FamilyGrant {
  readonly userId: string;
  readonly scopes: readonly string[];
  /** Audience of the granted API scopes; empty when there are none. */
  readonly resource: string;
  readonly sessionId: string;
  readonly issuer: string;
  /** Seconds since the Unix epoch. */
  readonly authTime: number;
}

export interface FamilyKey {
  readonly tenantId: string;
  readonly familyId: string;
}

export interface NewFamily {
  readonly familyId: string;
  readonly grant: FamilyGrant;
  /** Seconds without use after which it expires. */
  readonly idleSeconds: number;
  /** Seconds after which it expires whatever happens. */
  readonly absoluteSeconds: number;
}

export interface RotationRequest extends FamilyKey {
  readonly clientId: string;
  /** Generation of the presented token. */
  readonly generation: number;
  /** Scopes the request names; none: as granted. */
  readonly scopes: readonly string[];
  /** That of the family must be one of these; none: as granted. */
  readonly resources: readonly string[];
  readonly idleSeconds: number;
  readonly retryWindowSeconds: number;
  readonly trail: Trail;
}

export type RotationOutcome =
  /** The presented token was the live one, or its predecessor inside the retry window; `generation` is the live one now. */
  | { readonly kind: 'rotated' | 'retried'; readonly generation: number; readonly grant: FamilyGrant }
  | { readonly kind: RotationRefusal };

/** Nothing changed, but for `reuse_detected`, which revoked the family. */
export type RotationRefusal =
  | 'unknown'
  | 'client_mismatch'
  | 'expired'
  | 'revoked'
  | 'resource_mismatch'
  | 'scope_exceeded'
  | 'reuse_detected';

export interface RevocationRequest {
  readonly familyId: string;
  /** Only a family of this client is touched; undefined when the caller was admitted without credentials. */
  readonly owner: { readonly tenantId: string; readonly clientId: string } | undefined;
  /** For people; empty when none was given. */
  readonly reason: string;
  readonly trail: Trail;
}

/** `already_revoked`: the first reason and address stay. `unknown`: no such family, or not the owner's. */
export type RevocationOutcome = 'revoked' | 'already_revoked' | 'unknown';

/** A family whose token of the asked generation is alive. */
export interface LiveFamily extends FamilyGrant {
  readonly tenantId: string;
  readonly clientId: string;
  /** When the live token was made and when it stops being accepted, seconds since the Unix epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export interface RefreshStore {
  /** Makes the successor of a live token, or hands out the same successor again inside the retry window. */
  rotate(request: RotationRequest): Promise<RotationOutcome>;
  /**
   * Notes that an attempt which held `generation` did not hand it out. Once no attempt did, its predecessor may fetch it
   * later, and until then the family expires as if it had not been used.
   */
  markUndelivered(family: FamilyKey & { generation: number; clientId: string; trail: Trail }): Promise<void>;
  revoke(request: RevocationRequest): Promise<RevocationOutcome>;
  /**
   * Undefined when the family is unknown, revoked or expired, or the generation is neither the live one nor the
   * predecessor of one that was not handed out.
   */
  findLive(familyId: string, generation: number): Promise<LiveFamily | undefined>;
  /** Deletes up to `limit` families a day past their absolute expiry; resolves with how many. */
  purgeExpired(limit: number): Promise<number>;
}

/** A family that was revoked, as it is on record for those who want to know. */
export interface RecordedRevocation extends FamilyKey, Sequenced {
  readonly clientId: string;
  readonly userId: string;
  readonly sessionId: string;
  /** Audience of the granted API scopes; empty when there are none. */
  readonly resource: string;
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
}

/** Every revocation, in the order of the commits; on record from the commit that revokes, for a week. */
export interface RevocationStore extends FeedStore<RecordedRevocation> {
  /** The position behind which everything recorded since `seconds` (Unix epoch) comes, as far as it is on record. */
  positionBefore(seconds: number): Promise<number>;
  /** Deletes up to `limit` records older than a week; resolves with how many. */
  purgeOld(limit: number): Promise<number>;
}

/** The kinds of one-time values; each is a key space of its own. */
export type RedemptionKind = 'authorization_code' | 'device_code' | 'auth_req_id';

/** A one-time value that its owning client presents. */
export interface PresentedValue {
  readonly tenantId: string;
  readonly clientId: string;
  readonly kind: RedemptionKind;
  /** SHA-256 of the one-time value. */
  readonly hash: Uint8Array;
  readonly trail: Trail;
}

export interface RedemptionRequest extends PresentedValue {
  readonly userId: string;
  readonly sessionId: string;
  /** Undefined when no refresh token is issued. */
  readonly family: NewFamily | undefined;
}

export interface RedemptionStore {
  /**
   * Redeems a one-time value and starts its family. `replayed`: it was redeemed before; what that redemption issued is
   * revoked now. `session_ended`: it is a code of a session that a person ended, and nothing changed. The caller has
   * made sure that the owning client asks.
   */
  redeem(request: RedemptionRequest): Promise<'redeemed' | 'replayed' | 'session_ended'>;
  /**
   * For a value that comes back: whether it was redeemed, in which case that is treated as by `redeem`. The caller has
   * made sure that the owning client asks.
   */
  findReplay(value: PresentedValue): Promise<boolean>;
  /** The family that a redemption of the value started: null when it started none, undefined when there was none. */
  findFamily(value: Omit<PresentedValue, 'trail'>): Promise<string | null | undefined>;
  /** Codes of the session are not redeemed any more. May be repeated. */
  noteSessionEnd(tenantId: string, sessionId: string): Promise<void>;
  /** Deletes up to `limit` ends of sessions older than any code can be; resolves with how many. */
  purgeSessionEnds(limit: number): Promise<number>;
  /** Deletes up to `limit` markers older than any one-time value can be; resolves with how many. */
  purgeOld(limit: number): Promise<number>;
}
