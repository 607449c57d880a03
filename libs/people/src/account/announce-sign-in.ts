import { startOf, type Clock } from '@tessera/kit';
import type { Database, Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { Outbox } from '../mail/outbox.ts';

interface NewSignIn {
  readonly ipAddress: string;
  readonly userAgent: string;
  /** Whether no browser at all is known for the person. */
  readonly first: boolean;
}

/** A letter that comes later tells of the past. */
const letterSeconds = 3 * 24 * 3600;

/** In characters. */
const longestUserAgent = 256;

/**
 * Tells a person of a sign-in with a browser that is not known for them. Does nothing for one without an address, for
 * the first sign-in to a new account, and after some letters within an hour: with a browser that keeps no cookies,
 * every sign-in is one with a new browser.
 */
export async function announceSignIn(
  {
    database,
    outbox,
    clock,
  }: { readonly database: Database; readonly outbox: Outbox; readonly clock: Clock },
  { tenantId, userId }: PersonId,
  { ipAddress, userAgent, first }: NewSignIn,
): Promise<void> {
  await database.transaction(async (tx) => {
    if (!(await isWrittenTo(tx, { tenantId, userId }, first))) return;
    // Counted apart from mail that anybody can ask for, which otherwise could keep this one away.
    if (!(await outbox.count(tx, tenantId, `sign-in ${userId}`))) return;
    const content = { ipAddress, userAgent: startOf(userAgent, longestUserAgent), signedInAt: clock.now() };
    await outbox.add(tx, { tenantId, userId, kind: 'sign-in', content, lifetimeSeconds: letterSeconds });
  });
}

/** Browsers are known for 180 days: of an account that is younger, nobody has signed in to it if none is known. */
async function isWrittenTo(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  isFirst: boolean,
): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.person_to_tell_of_sign_in',
    text: `SELECT FROM directory.user_account
            WHERE tenant_id = $1 AND user_id = $2 AND email <> ''
              AND NOT ($3::boolean AND created_at > statement_timestamp() - interval '180 days')`,
    values: [tenantId, userId, isFirst],
  });
  return rows.length === 1;
}
