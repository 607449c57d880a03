import { desiredOf } from '../fields/field.ts';
import { userFields, type DeclaredUser, type UserRecord } from './fields.ts';
import { standardClaimsOf } from './standard-claims.ts';

/** The record that a declared user asks for, given the present one. */
export function desiredUser(
  declared: DeclaredUser,
  current: UserRecord | undefined,
  {
    owner,
    passwordHash,
    newUserId,
  }: {
    readonly owner: string;
    /** Of the declared password; without it the present one stays. */
    readonly passwordHash: string | undefined;
    readonly newUserId: () => string;
  },
): UserRecord {
  return {
    userId: current?.userId ?? newUserId(),
    owner,
    ...desiredOf(userFields, declared, current),
    standardClaims: standardClaimsOf(declared),
    passwordHash: passwordHash ?? current?.passwordHash,
  };
}
