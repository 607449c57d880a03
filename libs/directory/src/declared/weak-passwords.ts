import type { Report } from '../fields/field-checks.ts';
import { passwordProblem } from '../ground/passwords/password-policy.ts';
import type { DeclaredTenant } from './schema.ts';

/** Reports every declared password that a person may not have. */
export function checkPasswords(
  tenants: readonly DeclaredTenant[],
  report: Report,
  minimumLength: number,
): void {
  for (const [tenantIndex, { users }] of tenants.entries())
    for (const [index, { password }] of users.entries()) {
      const why = password === undefined ? undefined : passwordProblem(password, minimumLength);
      if (why !== undefined) report(['tenants', tenantIndex, 'users', index, 'password'], why);
    }
}
