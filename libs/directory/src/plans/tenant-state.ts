import type { ByList, ListedKind, RecordOf } from '../record-kinds.ts';
import type { ProvenEmail } from '../users/email-proof.postgres.ts';
import type { Subjects } from '../users/subjects.postgres.ts';

/** The records of each kind, by the name of their list. */
export type Lists = ByList<{ readonly [K in ListedKind]: readonly RecordOf[K][] }>;

/** Everything a tenant consists of. */
export interface TenantState extends Lists {
  readonly tenant: RecordOf['tenant'];
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
  /** Of what a plan may give to somebody, what others have or had; undefined where nobody has asked. */
  readonly subjects?: Subjects & {
    /** Whether people have an identifier that they were given. */
    readonly areGiven: boolean;
  };
}

/** A record with what its store knows about it. */
export interface StoredRecord<R> {
  readonly record: R;
  /** Of this version of the record: every change, by any version of Tessera, makes another one. */
  readonly etag: string;
  /** Undefined for kinds that have no times. */
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
}
