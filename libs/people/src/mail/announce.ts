import type { Queryable } from '@tessera/stores';
import type { AuditRuntime } from '@tessera/directory/ground';
import type { announcedChanges, MailContent, Outbox } from './outbox.ts';

export type AnnouncedChange = (typeof announcedChanges)[number];

/**
 * Tells a person by mail that something was changed, in the transaction of the change; does nothing where no mail is
 * sent.
 * @param said what else the mail needs; with `to` it goes to another address than that of the person
 */
export type Announce = (
  tx: Queryable,
  person: { readonly tenantId: string; readonly userId: string },
  change: AnnouncedChange,
  said?: Omit<MailContent, 'change'>,
) => Promise<void>;

/** What a change of how people sign in is recorded and announced with. */
export interface ChangeRuntime extends AuditRuntime {
  readonly announce: Announce;
}

/** A notice that comes later tells of the past. */
const noticeSeconds = 3 * 24 * 3600;

export function createAnnounce(outbox: Outbox | undefined): Announce {
  return async (tx, { tenantId, userId }, change, said = {}) => {
    if (outbox === undefined) return;
    if (!(said.to === undefined ? await hasAddress(tx, tenantId, userId) : said.to !== '')) return;
    const content = { ...said, change };
    await outbox.add(tx, { tenantId, userId, kind: 'notice', content, lifetimeSeconds: noticeSeconds });
  };
}

async function hasAddress(tx: Queryable, tenantId: string, userId: string): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.has_address',
    text: `SELECT FROM directory.user_account WHERE tenant_id = $1 AND user_id = $2 AND email <> ''`,
    values: [tenantId, userId],
  });
  return rows.length === 1;
}
