import { testDatabase } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { purgeEmailLinks } from '../account/email-links.postgres.ts';
import { purgeRegistrationLinks } from '../registration/registration.postgres.ts';
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
    [
      'links to registration',
      `INSERT INTO directory.registration_link (tenant_id, identifier, digest, email, expires_at)
       SELECT $1, days::text, sha256(days::text::bytea), '', now() + days * interval '1 day'
         FROM unnest('{-3,-2,1}'::int[]) AS days`,
      'SELECT FROM directory.registration_link WHERE tenant_id = $1',
      purgeRegistrationLinks,
      1,
    ],
    [
      'links that confirm an address',
      `INSERT INTO directory.email_link (tenant_id, user_id, digest, email, expires_at)
       SELECT $1, user_id, sha256(user_id::bytea), '', now() - interval '3 days'
         FROM directory.user_account WHERE tenant_id = $1`,
      'SELECT FROM directory.email_link WHERE tenant_id = $1',
      purgeEmailLinks,
      0,
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
