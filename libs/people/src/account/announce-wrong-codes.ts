import type { Database } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { Outbox } from '../mail/outbox.ts';

/** A letter that comes later tells of the past. */
const letterSeconds = 3 * 24 * 3600;

/**
 * Tells a person that many wrong codes were tried after the first step of a sign-in to their account. Does nothing for
 * one without a verified address: it may be that of somebody else.
 */
export async function announceWrongCodes(
  { database, outbox }: { readonly database: Database; readonly outbox: Outbox },
  { tenantId, userId }: PersonId,
): Promise<void> {
  await database.transaction(async (tx) => {
    const { rows } = await tx.query({
      name: 'directory.person_to_tell_of_wrong_codes',
      text: `SELECT FROM directory.user_account
              WHERE tenant_id = $1 AND user_id = $2 AND email <> ''
                AND coalesce((standard_claims ->> 'emailVerified')::boolean, false)`,
      values: [tenantId, userId],
    });
    if (rows.length === 0) return;
    // Processes that do not hear of each other may each tell once.
    if (!(await outbox.count(tx, tenantId, `wrong-codes ${userId}`))) return;
    const letter = {
      tenantId,
      userId,
      kind: 'wrong-codes',
      content: {},
      lifetimeSeconds: letterSeconds,
    } as const;
    await outbox.add(tx, letter);
  });
}
