import type { Application, User } from '@tessera/proto-gen/directory';

/**
 * The access policy of an application: whether a person of its tenant holds one of the roles it is for, or it is for
 * everybody. To be asked wherever a person is about to get something from it (CVE-2024-38371); what is active is
 * another question.
 */
export function mayUse(
  { allowedRoles }: Pick<Application, 'allowedRoles'>,
  { roles }: Pick<User, 'roles'>,
): boolean {
  return allowedRoles.length === 0 || allowedRoles.some((role) => roles.includes(role));
}
