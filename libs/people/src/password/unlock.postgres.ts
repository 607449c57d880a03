import { eventBase } from '@tessera/audit';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import type { Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { changePerson } from '../change/change-person.postgres.ts';
import { ofAnybody } from '../change/of-anybody.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/** Ends the lock of a person after too many guesses: `authorize` counts those since then. Throws as `ofAnybody`. */
export type Unlock = Handlers<typeof UsersService>['unlock'];

export function createUnlock({
  database,
  onChange,
  ...runtime
}: ChangeRuntime & { readonly database: Database; readonly onChange: () => void }): Unlock {
  return async ({ tenantId, userId, etag }, context) => {
    await ofAnybody(database, { tenantId, userId, etag }, async (tx) => {
      await tx.query({
        name: 'directory.unlock_user',
        // Two in one millisecond differ, too.
        text: `UPDATE directory.user_account
                  SET unlocked_at = greatest(unlocked_at + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
                WHERE tenant_id = $1 AND user_id = $2`,
        values: [tenantId, userId],
      });
      const event = { ...eventBase(context), event: 'auth.unlocked', outcome: 'success' } as const;
      const events = [{ ...event, tenantId, subject: userId }];
      await changePerson(tx, runtime, { tenantId, userId }, { ends: 'renewed', events });
    });
    onChange();
    return {};
  };
}
