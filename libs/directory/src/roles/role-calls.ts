import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import type { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { RoleRecordSchema } from '@tessera/proto-gen/records';
import { z } from 'zod';
import { apiOwner } from '../declared/owner.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import { recordForm } from '../records/record-form.ts';
import { role } from './fields.ts';

type RoleCalls = 'getRole' | 'listRoles' | 'createRole' | 'deleteRole';

const form = recordForm(RoleRecordSchema, 'role', ['name']);
const named = z.strictObject({ name: role });

/** The calls that read and change one role. */
export function roleCalls(deps: RecordCallsDeps): Pick<Handlers<typeof DirectoryAdminService>, RoleCalls> {
  const calls = recordCalls(
    {
      kind: 'role',
      form,
      entryOf: ({ name }) => ({ name }),
      messageOf: (outcome) => form.messageOf({ name: outcome.record.name }, outcome),
      desired: async (entry) => ({ ...form.parse(named, entry), owner: apiOwner }),
    },
    deps,
  );
  return {
    getRole: async ({ tenantId, name }) => calls.get(tenantId, name),
    async listRoles({ tenantId, ...page }) {
      const { found: roles, nextPageToken } = await calls.list(tenantId, page);
      return { roles, nextPageToken };
    },
    createRole: async ({ role: given, ...request }, context) =>
      calls.create(given, { ...request, id: given?.name ?? '' }, context),
    deleteRole: async ({ name: id, ...request }, context) =>
      calls.delete(
        {
          ...request,
          id,
          async allow({ name }, around) {
            const users = await around.usersOf({ roles: [name] });
            if (users.length > 0)
              throw new ConnectError(`The role is used by ${users.join(', ')}.`, Code.FailedPrecondition);
          },
        },
        context,
      ),
  };
}
