import { desiredOf } from '../fields/field.ts';
import { userFields, type DeclaredUser, type UserRecord } from './fields.ts';
import { standardClaimsOf } from './claims/standard-claims.ts';

/** The record that a declared user asks for, given the present one. */
export function desiredUser(
  declared: DeclaredUser,
  current: UserRecord | undefined,
  {
    owner,
    passwordHash,
    declaredTotp,
    declaredPasskeys = declared.passkeys?.map(({ credentialId }) => credentialId),
    declaredIdentities,
    newUserId,
  }: {
    readonly owner: string;
    /** Of the declared password; without it the present one stays. */
    readonly passwordHash: string | undefined;
    readonly newUserId: () => string;
    /** By which the declared authenticator app is known; without one the present one stays. */
    readonly declaredTotp?: string | undefined;
    /** By default those that are declared; those that were before stay remembered, unless it is none. */
    readonly declaredPasskeys?: readonly string[] | undefined;
    /** As of the record; those that were declared before stay remembered, unless it is none. */
    readonly declaredIdentities?: readonly string[] | undefined;
  },
): UserRecord {
  return {
    userId: current?.userId ?? declared.userId ?? newUserId(),
    owner,
    ...desiredOf(userFields, declared, current),
    standardClaims: standardClaimsOf(declared),
    passwordHash: passwordHash ?? current?.passwordHash,
    declaredTotp: declaredTotp ?? current?.declaredTotp,
    declaredPasskeys: together(current?.declaredPasskeys, declaredPasskeys),
    declaredIdentities: together(current?.declaredIdentities, declaredIdentities),
  };
}

/** An empty list takes back what was declared before; undefined if nothing ever was. */
function together(
  before: readonly string[] | undefined,
  declared: readonly string[] | undefined,
): readonly string[] | undefined {
  if (declared?.length === 0) return before === undefined ? undefined : [];
  return declared === undefined ? before : [...new Set([...(before ?? []), ...declared])];
}
