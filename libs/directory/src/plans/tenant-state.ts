import type { ApplicationRecord } from '../applications/fields.ts';
import type { ProviderRecord } from '../providers/fields.ts';
import type { ResourceRecord } from '../resources/fields.ts';
import type { RoleRecord } from '../roles/fields.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import type { ProvenEmail } from '../users/email-proof.postgres.ts';
import type { UserRecord } from '../users/fields.ts';

/** Everything a tenant consists of. */
export interface TenantState {
  readonly tenant: TenantRecord;
  readonly resources: readonly ResourceRecord[];
  readonly roles: readonly RoleRecord[];
  readonly providers: readonly ProviderRecord[];
  readonly users: readonly UserRecord[];
  readonly applications: readonly ApplicationRecord[];
  /** What those who administer have at providers, be these declared or not. */
  readonly identities?: readonly AdministratorIdentity[];
}

/** What somebody who holds a built-in role signs in with at a provider, by its name and issuer. */
export interface AdministratorIdentity {
  readonly userId: string;
  readonly provider: string;
  readonly issuer: string;
}

/** What a person signs in with at a provider that the tenant has. */
export interface KnownIdentity {
  readonly userId: string;
  /** Name of the provider. */
  readonly provider: string;
  /** Whether the person has another way in than providers. */
  readonly hasOtherWay: boolean;
}

/** A tenant as it is, with what a change of its providers takes from people. */
export interface PresentState extends TenantState {
  readonly known: readonly KnownIdentity[];
  /** What providers proved. */
  readonly proven: readonly ProvenEmail[];
}

/** The records that are changed one by one, by kind. */
export interface RecordKinds {
  readonly user: UserRecord;
  readonly application: ApplicationRecord;
  readonly resource: ResourceRecord;
  readonly role: RoleRecord;
  readonly tenant: TenantRecord;
}

export type RecordKind = keyof RecordKinds;

/** The records of a declared state, by kind. */
export interface DeclaredKinds extends RecordKinds {
  readonly provider: ProviderRecord;
}

export type DeclaredKind = keyof DeclaredKinds;

/** A record with what its store knows about it. */
export interface StoredRecord<R> {
  readonly record: R;
  /** Of this version of the record: every change, by any version of Tessera, makes another one. */
  readonly etag: string;
  /** Undefined for kinds that have no times. */
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
}
