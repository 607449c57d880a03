import { adminRoles } from '@tessera/oauth';
import { refuseRepeated, type Report } from '../fields/field-checks.ts';
import type { DeclaredUser } from './fields.ts';
import { identifiersOf } from './identifiers.ts';

/** The message for a person who has an identifier of another one. */
export const isSharedIdentifier =
  'shares a user name, e-mail address or phone number with another user of the tenant';

/** The rules of a user that involve more than one key. */
export function checkUser(user: DeclaredUser, roles: ReadonlySet<string>, report: Report): void {
  if (user.emailVerified !== undefined && user.email === '') report(['emailVerified'], 'needs an email');
  if (user.phoneNumberVerified !== undefined && user.phoneNumber === '') {
    report(['phoneNumberVerified'], 'needs a phoneNumber');
  }
  if (user.password !== undefined && user.passwordHash !== undefined) {
    report(['passwordHash'], 'cannot be combined with password');
  }
  user.roles.forEach((role, index) => {
    if (!roles.has(role) && !adminRoles.has(role)) report(['roles', index], 'is not a role of the tenant');
  });
  refuseRepeated(user.roles, (index) => report(['roles', index], 'is listed twice'));
}

/**
 * The rules of the users of a tenant that involve more than one key.
 * @param taken identifiers of other people in the tenant, normalized
 */
export function checkUsers(
  tenant: { readonly users: readonly DeclaredUser[]; readonly roles: readonly string[] },
  report: Report,
  taken: readonly string[] = [],
): void {
  const roles = new Set(tenant.roles);
  const identifiers = new Set(taken);
  const userIds = new Set<string>();
  tenant.users.forEach((user, userIndex) => {
    const here: Report = (path, message) => report(['users', userIndex, ...path], message);
    for (const identifier of identifiersOf(user)) {
      if (identifiers.has(identifier)) here([], isSharedIdentifier);
      identifiers.add(identifier);
    }
    const { userId } = user;
    if (userId !== undefined && userIds.has(userId)) here(['userId'], 'is declared twice');
    if (userId !== undefined) userIds.add(userId);
    checkUser(user, roles, here);
  });
}
