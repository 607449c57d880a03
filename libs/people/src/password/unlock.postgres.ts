import { eventBase } from '@tessera/audit';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import type { Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import {
  appendChanges,
  notFound,
  insertAuditRows,
  type AuditRuntime,
  lockTenant,
} from '@tessera/directory/ground';

/** Ends the lock of a person after too many guesses: `authorize` counts those since then. Throws NotFound. */
export type Unlock = Handlers<typeof UsersService>['unlock'];

export function createUnlock({
  database,
  onChange,
  ...runtime
}: AuditRuntime & { readonly database: Database; readonly onChange: () => void }): Unlock {
  return async ({ tenantId, userId }, context) => {
    await database.transaction(async (tx) => {
      await lockTenant(tx, tenantId, 'together');
      const { rowCount } = await tx.query({
        name: 'directory.unlock_user',
        // Two in one millisecond differ, too.
        text: `UPDATE directory.user_account
                  SET unlocked_at = greatest(unlocked_at + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
                WHERE tenant_id = $1 AND user_id = $2`,
        values: [tenantId, userId],
      });
      if (rowCount === 0) throw notFound('The user');
      const event = { ...eventBase(context), event: 'auth.unlocked', outcome: 'success' } as const;
      await insertAuditRows(tx, [{ ...event, tenantId, subject: userId }], runtime);
      await appendChanges(tx, [{ kind: 'user', tenantId, id: userId }]);
    });
    onChange();
    return {};
  };
}
