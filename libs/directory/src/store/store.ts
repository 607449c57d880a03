import type { AuditEvent } from '@tessera/audit';
import type { DeclaredUse } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { FoundForPassword, FoundUser, StandInPosition } from '../users/found-user.ts';
import type { FoundSecrets, SecretUse } from '../secrets/found-secrets.ts';
import type { FoundApplication } from '../applications/found-application.ts';
import type { TenantPlan } from '../plans/plan.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import type { ListedIssuers } from '../tenants/issuer.ts';
import type { Change } from '../ground/append-changes.postgres.ts';
import type { RecordKind, RecordOf } from '../record-kinds.ts';
import type { PresentState, StoredRecord } from '../plans/tenant-state.ts';

/**
 * How a tenant is to change, given what it is; undefined when the decision was prepared for something else. Called
 * inside the transaction, perhaps more than once.
 */
export type Decide = (current: PresentState | undefined) => DecidedChange | undefined;

/** A plan with the rows that it adds to the feed and to the audit trail. */
export interface DecidedChange {
  readonly plan: TenantPlan;
  readonly changes: readonly Change[];
  readonly events: readonly AuditEvent[];
  /** Tells people of it by mail, in its transaction. */
  readonly tell?: () => Promise<void>;
}

export type TenantChangeResult =
  | { readonly kind: 'done'; readonly plan: TenantPlan }
  /** Nothing was decided, so nothing was written. */
  | { readonly kind: 'stale' }
  /** Other tenants have some of its unique values; nothing was written. */
  | { readonly kind: 'taken'; readonly values: readonly TakenValue[] };

/**
 * A value that another tenant has; `clientIdAsAudience` and `jwtAudience`: a client id as JWT audience, and the
 * reverse; `trust`: as `keyOfTrust` has it; `trustOfOurs`: one about an issuer of this deployment.
 */
export interface TakenValue {
  readonly kind:
    | 'trust'
    | 'trustOfOurs'
    | 'clientId'
    | 'issuer'
    | 'audience'
    | 'clientIdAsAudience'
    | 'audienceAsClientId';
  readonly value: string;
}

/** Reads of the durable records; every one names its tenant, or finds it through the globally unique client id. */
export interface DirectoryStore {
  findTenant(tenantId: string): Promise<TenantRecord | undefined>;
  /** The tenants that have an issuer of their own. */
  tenantIssuers(): Promise<ListedIssuers>;
  /** What applications make their issuers announce, by the tenant whose issuer it is, or '' for the shared one. */
  declaredUses(): Promise<ReadonlyMap<string, DeclaredUse>>;
  findApplication(clientId: string): Promise<FoundApplication | undefined>;
  /** Undefined for an unknown application; an empty list for one without valid secrets. */
  findSecrets(clientId: string): Promise<FoundSecrets | undefined>;
  findUser(tenantId: string, userId: string): Promise<FoundUser | undefined>;
  /** Several users of a tenant, without those that are unknown. */
  findUsers(tenantId: string, userIds: readonly string[]): Promise<FoundUser[]>;
  /** By normalized user name, e-mail address or phone number. */
  findUserByIdentifier(tenantId: string, identifier: string): Promise<FoundUser | undefined>;
  /**
   * The time of a sign-in by the password of `passwordHash`, in milliseconds since the Unix epoch: at or after the
   * user's `validFrom`, and before any that a later change sets. Undefined when the hash was replaced, or user or
   * tenant are not active.
   */
  confirmSignIn(tenantId: string, userId: string, passwordHash: string): Promise<number | undefined>;
  /** As `findUserByIdentifier`, with the stand-in at `position` in the order of user IDs. */
  findForPassword(tenantId: string, identifier: string, position: StandInPosition): Promise<FoundForPassword>;
  noteSecretUses(uses: readonly SecretUse[]): Promise<void>;
}

export interface StoredPassword {
  /** Whose it is. */
  readonly userId: string;
  /** PHC string; undefined where the password was taken away. */
  readonly hash: string | undefined;
  /** SHA-256 of the declared hash that this one, or none, replaced; undefined when nothing was replaced. */
  readonly imported: Buffer | undefined;
}

export interface PasswordRenewal {
  readonly tenantId: string;
  readonly userId: string;
  /** PHC strings. */
  readonly from: string;
  readonly to: string;
}

/** A page of records, in the order of their kind. */
export interface RecordPage<R> {
  readonly records: readonly StoredRecord<R>[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

/** A transaction that changes one record of a tenant, or the tenant itself. */
export interface RecordTransaction {
  /** For the functions in the read files of the kinds: a new one changes no interface. */
  readonly tx: Queryable;
  readonly tenantId: string;
  /** Undefined if there is no such tenant. */
  readonly tenant: TenantRecord | undefined;
  /** Reads a record and keeps others from changing it until the commit. */
  find<K extends RecordKind>(kind: K, id: string): Promise<StoredRecord<RecordOf[K]> | undefined>;
  /** What a plan for one record declares and another tenant has. */
  taken(plan: TenantPlan): Promise<readonly TakenValue[]>;
  /**
   * Keeps what the create with this request identifier creates, for 24 hours. Returns what an earlier one created,
   * after its commit; undefined if this is the first.
   */
  claim(
    requestId: string,
    created: ClaimedRecord & { readonly digest: Buffer },
  ): Promise<KeptClaim | undefined>;
  carryOut(change: DecidedChange): Promise<void>;
}

/** What a create created. */
export interface ClaimedRecord {
  readonly kind: RecordKind | 'secret';
  readonly id: string;
}

/** What an earlier create created. */
export interface KeptClaim extends ClaimedRecord {
  /** Of what was asked for. */
  readonly digest: Buffer;
}

/** Writes: the change, its place in the feed and its audit rows in one commit. */
export interface AdminStore {
  /**
   * Those of people who have these normalized user names or these identifiers, by their user names, and perhaps of
   * others.
   */
  passwordHashes(
    tenantId: string,
    usernames: readonly string[],
    userIds?: readonly string[],
  ): Promise<ReadonlyMap<string, StoredPassword>>;
  /** Puts another hash of the same password in the place of `from`, if that is still there. It ends nothing. */
  replacePasswordHash(renewal: PasswordRenewal): Promise<boolean>;
  /**
   * What a plan claims and another tenant has.
   * @param besides tenants whose APIs and applications do not count, as the same file plans them
   */
  takenValues(plan: TenantPlan, besides: readonly string[]): Promise<readonly TakenValue[]>;
  /** In their order. */
  tenantIds(): Promise<readonly string[]>;
  /**
   * The whole of a tenant as it is at one moment; undefined when there is none.
   * @param names normalized: of people, those alone who have one of them as an identifier or a preferred name, without
   * what they have at providers; default: everybody
   * @param subjects identifiers that people and applications are to have; people who have one of them are there, too
   */
  tenantState(
    tenantId: string,
    names?: readonly string[],
    subjects?: readonly string[],
  ): Promise<PresentState | undefined>;
  /** @param names @param subjects as of `tenantState` */
  changeTenant(
    tenantId: string,
    decide: Decide,
    names?: readonly string[],
    subjects?: readonly string[],
  ): Promise<TenantChangeResult>;
  /**
   * Invalidates all earlier sign-ins of one tenant or all. Watchers receive one `ended` change per tenant, and `event`
   * is recorded for each. Empty for an unknown tenant.
   */
  bumpEpoch(tenantId: string | undefined, event: AuditEvent): Promise<readonly Epoch[]>;
}

/** Since when sign-ins count in a tenant, seconds since the Unix epoch. */
export interface Epoch {
  readonly tenantId: string;
  readonly validFrom: number;
}
