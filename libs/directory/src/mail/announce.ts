import type { Queryable } from '@tessera/stores';
import type { AuditRuntime } from '../store/audit-rows.postgres.ts';
import type { announcedChanges, Outbox } from './outbox.ts';

export type AnnouncedChange = (typeof announcedChanges)[number];

/**
 * Tells a person by mail that something was changed, in the transaction of the change; does nothing where no mail is sent.
 * @param to another address than that of the person
 */
export type Announce = (
  tx: Queryable,
  person: { readonly tenantId: string; readonly userId: string },
  change: AnnouncedChange,
  to?: string,
) => Promise<void>;

/** What a change of how people sign in is recorded and announced with. */
export interface ChangeRuntime extends AuditRuntime {
  readonly announce: Announce;
}

/** A notice that comes later tells of the past. */
const noticeSeconds = 3 * 24 * 3600;

export function createAnnounce(outbox: Outbox | undefined): Announce {
  return async (tx, { tenantId, userId }, change, to) => {
    if (outbox === undefined || !(to === undefined ? await hasAddress(tx, tenantId, userId) : to !== ''))
      return;
    const content = { change, ...(to !== undefined && { to }) };
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
