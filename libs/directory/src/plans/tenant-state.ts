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

/** What a person signs in with: a passkey, or what they have at a provider that the tenant has. */
export interface KnownWay {
  readonly userId: string;
  /** As records remember what is declared: the credential ID of a passkey, or an `identityText`. */
  readonly way: string;
  /** Name of the provider; empty for a passkey. */
  readonly provider: string;
  /** Whether a code by mail alone lets the person in. */
  readonly getsMailCode: boolean;
}

/** A tenant as it is, with what a change of its providers or people takes from these. */
export interface PresentState extends TenantState {
  /** Of the people of this state. Passkeys are those of people who may lose a way in. */
  readonly known: readonly KnownWay[];
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
