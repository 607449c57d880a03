/**
 * The stores of the token service. Times are those of the database. Errors of the database are thrown as
 * `temporarily_unavailable`; a lost race is a result. Every change is committed together with its audit rows.
 */
import type { AuditEvent } from '@tessera/audit';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { RetainedFeedStore, Sequenced } from '@tessera/stores';

/** Who caused a change, for the audit rows written with it. */
export interface Trail {
  readonly requestId: string;
  /** Address of the client; empty if unknown. */
  readonly ipAddress: string;
  /** Details for the audit row of an issued token, for example its `jti`. */
  readonly details?: Readonly<Record<string, string>>;
  /** Absent: the client. */
  readonly actor?: AuditEvent['actor'];
}

export interface FamilyKey {
  readonly tenantId: string;
  readonly familyId: string;
}

export interface NewFamily {
  readonly familyId: string;
  /** Fixed when the family starts; without a nonce, which only the first ID token has (OIDC Core §12.2). */
  readonly grant: UserGrant;
  /** Seconds without use after which it expires. */
  readonly idleSeconds: number;
  /** Seconds after which it expires even if it is used. */
  readonly absoluteSeconds: number;
}

export interface RotationRequest extends FamilyKey {
  readonly clientId: string;
  /** Generation of the presented token. */
  readonly generation: number;
  /** Requested scopes; empty: as granted. */
  readonly scopes: readonly string[];
  /** The resource of the family must be one of these; empty: any. */
  readonly resources: readonly string[];
  readonly idleSeconds: number;
  readonly retryWindowSeconds: number;
  /** Whether the session of the family was found alive. A family that lives without its session does not ask. */
  readonly sessionLives: boolean;
  readonly trail: Trail;
  /** Called before each statement is sent, however long it waited; what it throws leaves the family as it is. */
  readonly throwIfAborted?: () => void;
}

/** When a refresh token was issued and when it expires unless it is used, in seconds since the Unix epoch. */
export interface TokenTimes {
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export type RotationOutcome =
  /** The presented token was live, or its predecessor within the retry window; `generation` is live now. */
  | ({
      readonly kind: 'rotated' | 'retried';
      readonly generation: number;
      readonly grant: UserGrant;
    } & TokenTimes)
  | { readonly kind: RotationError };

/** Nothing changed, except that `reuse_detected` revoked the family. */
export type RotationError =
  | 'unknown'
  | 'client_mismatch'
  | 'expired'
  | 'revoked'
  | 'session_ended'
  | 'resource_mismatch'
  | 'scope_exceeded'
  | 'reuse_detected';

export interface RevocationRequest {
  readonly familyId: string;
  /**
   * Only a family of this tenant, and of this client unless the caller was admitted without credentials, is revoked.
   * Undefined: any family.
   */
  readonly owner: { readonly tenantId: string; readonly clientId: string | undefined } | undefined;
  /** For people; empty if none was given. */
  readonly reason: string;
  readonly trail: Trail;
}

/** `already_revoked`: the first reason and address are kept. `unknown`: no such family, or of another owner. */
export type RevocationOutcome = 'revoked' | 'already_revoked' | 'unknown';

/** A family whose token of the requested generation is active. */
export interface LiveFamily extends TokenTimes {
  readonly grant: UserGrant;
}

/** Both absent: all of the tenant. */
export interface LiveScope {
  readonly tenantId: string;
  readonly userIds?: readonly string[] | undefined;
  readonly clientIds?: readonly string[] | undefined;
}

/** The family that a page of families follows. */
export interface FamilyPosition {
  /** Of its person, or of its application where these are asked for. */
  readonly ownerId: string;
  readonly familyId: string;
}

/** Before all families. */
export const firstFamily: FamilyPosition = { ownerId: '', familyId: '00000000-0000-0000-0000-000000000000' };

/** Times are milliseconds since the Unix epoch. */
export interface FoundFamily extends FamilyPosition {
  readonly grant: UserGrant;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly expiresAt: number;
}

export interface RefreshStore {
  /**
   * The session that a family of a client ends with; undefined if it lives without one, is revoked, expired or another
   * client's, or if `generation` was superseded twice.
   */
  sessionOf(token: FamilyKey & { clientId: string; generation: number }): Promise<string | undefined>;
  /** The session that a family of a client ends with, live or not; undefined if there is no such family. */
  endOf(
    family: FamilyKey & { clientId: string },
  ): Promise<{ readonly endsWith: string | undefined } | undefined>;
  /** Rotates a live token; within the retry window, returns the same successor again. */
  rotate(request: RotationRequest): Promise<RotationOutcome>;
  /**
   * Records that a response with `generation` was not delivered. If no response delivered it, its predecessor can be
   * presented again at any time, and until then the family expires as if it had not been used.
   */
  recordUndelivered(
    family: FamilyKey & { generation: number; clientId: string; trail: Trail },
  ): Promise<void>;
  revoke(request: RevocationRequest): Promise<RevocationOutcome>;
  /** The issuer of a family, live or not; undefined if the family is unknown. */
  issuerOf(familyId: string): Promise<string | undefined>;
  /**
   * Undefined if the family is unknown, revoked or expired, or if the generation is neither live nor the predecessor
   * of one that was not delivered.
   */
  findLive(familyId: string, generation: number): Promise<LiveFamily | undefined>;
  /**
   * Up to `limit` families that were neither revoked nor have expired: of a tenant, of these people or of these
   * applications of it, in order of people or applications and ids. Whether a refresh would accept them is not known
   * here.
   */
  live(scope: LiveScope, after: FamilyPosition, limit: number): Promise<FoundFamily[]>;
  /** Deletes up to `limit` families a day past their absolute expiry; resolves with their number. */
  purgeExpired(limit: number): Promise<number>;
}

/** A revoked family, or a revoked access token, in the revocation feed. */
export interface RecordedRevocation extends FamilyKey, Sequenced {
  /** `jti` of the access token; empty for a family. */
  readonly tokenId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly sessionId: string;
  /** The named resource, else the audience of the granted API scopes; empty if there is neither. */
  readonly resource: string;
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
}

/** The feed of revocations, in the order of the commits. Entries are kept for a week. */
export interface RevocationStore extends RetainedFeedStore<RecordedRevocation> {
  /** `jti` of the access tokens revoked within the last day, the longest lifetime of one. */
  revokedAccessTokens(): Promise<readonly string[]>;
}

/** The kinds of one-time values; each has its own key space. */
export type RedemptionKind = 'authorization_code' | 'device_code' | 'auth_req_id';

/** A one-time value presented by the client it was issued to. */
export interface PresentedValue {
  readonly tenantId: string;
  readonly clientId: string;
  readonly kind: RedemptionKind;
  /** SHA-256 of the one-time value. */
  readonly hash: Uint8Array;
  readonly trail: Trail;
  /** Called before a statement is sent, however long it waited; what it throws leaves everything as it is. */
  readonly throwIfAborted?: () => void;
}

export interface RedemptionRequest extends PresentedValue {
  readonly userId: string;
  readonly sessionId: string;
  /** Undefined if no refresh token is issued. */
  readonly family: NewFamily | undefined;
  /** `jti` and `aud` of the issued access token; several audiences with spaces between. */
  readonly accessToken: { readonly tokenId: string; readonly audience: string };
}

/** `session_ended`: the session of the code has ended, and nothing changed. */
export type RedemptionOutcome = Redeemed | { readonly kind: 'session_ended' } | Replayed;

interface Redeemed {
  readonly kind: 'redeemed';
  /** Of the first token of the family; undefined without one. */
  readonly times: TokenTimes | undefined;
}

interface Replayed extends Replay {
  readonly kind: 'replayed';
}

/** A value was redeemed before. For a code, what that redemption issued is revoked. */
export interface Replay {
  /** `jti` of the access token that is revoked now; undefined if none is. */
  readonly revokedTokenId: string | undefined;
}

export interface RedemptionStore {
  /**
   * Redeems a one-time value and starts its family, unless it was redeemed before. The caller has checked that the
   * value was issued to this client.
   */
  redeem(request: RedemptionRequest): Promise<RedemptionOutcome>;
  /**
   * Handles a value that is presented again as `redeem` does if it was redeemed before; undefined if it was not. The
   * caller has checked that the value was issued to this client.
   */
  findReplay(value: PresentedValue): Promise<Replay | undefined>;
  /**
   * From now on, codes of the session cannot be redeemed, and the families that end with it are revoked. Idempotent.
   */
  noteSessionEnd(tenantId: string, sessionId: string, trail: Trail): Promise<void>;
  /** Deletes up to `limit` ended sessions that no valid code can belong to; resolves with their number. */
  purgeSessionEnds(limit: number): Promise<number>;
  /** Deletes up to `limit` markers whose one-time value has long expired; resolves with their number. */
  purgeOld(limit: number): Promise<number>;
}
