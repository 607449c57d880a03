import { passwordProblem } from '../ground/password-policy.ts';
import type { Problem } from './positions.ts';
import type { ReadState } from './read.ts';

/** Every declared password that a person may not have. */
export function weakPasswords({ state, problem }: ReadState, minimumLength: number): Problem[] {
  return state.tenants.flatMap(({ users }, tenantIndex) =>
    users.flatMap(({ password }, index) => {
      const why = password === undefined ? undefined : passwordProblem(password, minimumLength);
      return why === undefined ? [] : [problem(['tenants', tenantIndex, 'users', index, 'password'], why)];
    }),
  );
}
