import { testDatabase } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { mailWorld } from '../testing/mail-world.ts';
import { migrations } from '@tessera/directory';
import { purgeMail } from './outbox.postgres.ts';

describe('what has expired', () => {
  it.each([
    [
      'mail',
      `INSERT INTO directory.mail (mail_id, tenant_id, user_id, kind, sealed, due_at, expires_at)
       SELECT 'tm_' || days, $1, '', 'later', '', 'infinity', now() + days * interval '1 day'
         FROM unnest('{-3,-2,1}'::int[]) AS days`,
      'SELECT FROM directory.mail WHERE tenant_id = $1',
      purgeMail,
      1,
    ],
    [
      'counts of mail',
      `INSERT INTO directory.mail_quota (tenant_id, recipient, since, mails)
       SELECT $1, sha256(hours::text::bytea), now() + hours * interval '1 hour', 1
         FROM unnest('{-3,-2,0}'::int[]) AS hours`,
      'SELECT FROM directory.mail_quota WHERE tenant_id = $1',
      purgeMail,
      1,
    ],
  ])('is removed in portions, and nothing else: %s', async (_what, add, rest, purge, left) => {
    const database = await testDatabase(migrations);
    const { query, tenantId } = await mailWorld(database);
    await query('add_expired', add, tenantId);
    expect(await purge(database, 1)).toBe(1);
    while ((await purge(database, 1)) > 0);
    expect(await query('rest', rest, tenantId)).toHaveLength(left);
  });
});
