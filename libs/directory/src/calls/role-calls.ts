import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import { RoleSchema, type RolesService } from '@tessera/proto-gen/admin-roles';
import { z } from 'zod';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import type { Outcome } from '../records/change-requests.ts';
import { recordForm } from '../records/record-form.ts';
import { usersOf } from '../store/references.postgres.ts';
import { role, type RoleRecord } from '../roles/fields.ts';

const form = recordForm(RoleSchema, 'role', ['name']);
const named = z.strictObject({ name: role });

/** The calls that read and change one role. */
export function roleCalls(deps: RecordCallsDeps): Handlers<typeof RolesService> {
  const calls = recordCalls(
    {
      kind: 'role',
      form,
      entryOf: ({ name }) => ({ name }),
      messageOf: messageOfRole,
      desired: async (entry, owner) => ({ ...form.parse(named, entry), owner }),
    },
    deps,
  );
  return {
    get: async ({ tenantId, name }) => calls.get(tenantId, name),
    async list({ tenantId, ...page }) {
      const { found: roles, nextPageToken } = await calls.list(tenantId, page);
      return { roles, nextPageToken };
    },
    create: async ({ role: given, ...request }, context) =>
      calls.create(given, { ...request, id: given?.name ?? '' }, context),
    async delete({ name: id, ...request }, context) {
      await calls.delete(
        {
          ...request,
          id,
          async allow({ name }, { tx, tenantId }) {
            const users = await usersOf(tx, tenantId, { roles: [name] });
            if (users.length > 0)
              throw new ConnectError(`The role is used by ${users.join(', ')}.`, Code.FailedPrecondition);
          },
        },
        context,
      );
      return {};
    },
  };
}

export function messageOfRole(outcome: Outcome<RoleRecord>) {
  return form.messageOf({ name: outcome.record.name }, outcome);
}
