import { Code, ConnectError } from '@tessera/rpc';
import { usersOf } from '../store/references.postgres.ts';
import type { Refusals } from './standard-calls.ts';

/** A role that somebody has, or that a record refers to, stays. */
export const roleRefusals: Refusals<'role'> = {
  async deletion({ name }, { tx, tenantId }) {
    const users = await usersOf(tx, tenantId, { roles: [name] });
    if (users.length > 0)
      throw new ConnectError(`The role is used by ${users.join(', ')}.`, Code.FailedPrecondition);
  },
};
