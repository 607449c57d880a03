import { eventBase } from '@tessera/audit';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import type { Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { notFound, lockTenant } from '@tessera/directory/ground';
import { changePerson } from '../change/change-person.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/** Ends the lock of a person after too many guesses: `authorize` counts those since then. Throws NotFound. */
export type Unlock = Handlers<typeof UsersService>['unlock'];

export function createUnlock({
  database,
  onChange,
  ...runtime
}: ChangeRuntime & { readonly database: Database; readonly onChange: () => void }): Unlock {
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
      const events = [{ ...event, tenantId, subject: userId }];
      await changePerson(tx, runtime, { tenantId, userId }, { ends: 'renewed', events });
    });
    onChange();
    return {};
  };
}
