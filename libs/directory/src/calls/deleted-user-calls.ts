import { adminRoles, isGivenUserId } from '@tessera/oauth';
import { pageRequest, type Handlers } from '@tessera/rpc';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import { listedDeleted, type RecordCallsDeps } from '../records/record-calls.ts';
import { readRoles } from '../roles/read.postgres.ts';
import { desiredUser } from '../users/desired.ts';
import { user } from '../users/fields.ts';
import { needsOwnIssuer } from '../users/claims/given-user-id.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { checkAmongOthers, entryOfUser, messageOfUser, userForm } from './forms/user-form.ts';

/** The calls that list deleted people and bring one back. */
export function deletedUserCalls({
  database,
  records,
}: RecordCallsDeps): Pick<Handlers<typeof UsersService>, 'listDeleted' | 'undelete'> {
  return {
    async listDeleted({ tenantId, search, ...page }) {
      const request = pageRequest({ ...page, search: normalizeIdentifier(search) });
      const { found, nextPageToken } = await listedDeleted(database, 'user', tenantId, request);
      return { users: found.map((each) => messageOfUser(each)), nextPageToken };
    },

    async undelete({ userId: id, ...request }, context) {
      const restored = await records.restore(
        'user',
        {
          ...request,
          id,
          async draft({ record }, around) {
            const present = new Set((await readRoles(around.tx, around.tenantId)).map(({ name }) => name));
            const roles = record.roles.filter((role) => present.has(role) || adminRoles.has(role));
            // Parsed again: an earlier version kept fewer fields.
            if (isGivenUserId(id) && around.tenant?.issuer === '')
              userForm.check((report) => report(['userId'], needsOwnIssuer));
            const declared = userForm.parse(user, entryOfUser({ ...record, roles }));
            await checkAmongOthers(declared, id, around);
            const { roles: _, ...kept } = record;
            return desiredUser(declared, undefined, { ...kept, newUserId: () => id });
          },
        },
        context,
      );
      return messageOfUser(restored);
    },
  };
}
