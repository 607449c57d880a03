import type { Queryable } from '@tessera/stores';

/**
 * Held until the commit. `alone`: for what reads or writes several records of a tenant, so that none of them changes
 * meanwhile. `together`: for commands that change one record, whose row they lock.
 */
export async function lockTenant(tx: Queryable, tenantId: string, how: 'alone' | 'together'): Promise<void> {
  await tx.query({
    name: `directory.lock_tenant_${how}`,
    text: `SELECT pg_advisory_xact_lock${how === 'alone' ? '' : '_shared'}(
             hashtextextended('tessera.directory.tenant ' || $1::text, 0))`,
    values: [tenantId],
  });
}

/**
 * Held from before the first row in the feed until the commit, so that the feed is in the order of the commits. It
 * comes last, as all tenants share it. Its holder sees the changes of all earlier holders.
 */
export async function lockFeed(tx: Queryable): Promise<void> {
  await tx.query({
    name: 'directory.lock_feed',
    text: `SELECT pg_advisory_xact_lock(hashtextextended('tessera.directory.feed', 0))`,
  });
}
