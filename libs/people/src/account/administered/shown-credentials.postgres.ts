import { notFound, waysIn, type WayIn } from '@tessera/directory/ground';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import { timestampFromMs, type Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { works } from '../../links/password-links.postgres.ts';
import { factorColumns, type FactorRow } from '../own-credentials.postgres.ts';

/** Times are milliseconds since the Unix epoch. */
interface Row extends FactorRow {
  readonly ways: WayIn[];
  readonly providers: readonly { readonly name: string; readonly linkedAt: number; readonly gone: boolean }[];
  readonly links: readonly { readonly purpose: string; readonly expiresAt: number }[];
}

/** What administrators see of how a person signs in. Throws NotFound. */
export function shownCredentials(database: Database): Handlers<typeof UsersService>['getCredentials'] {
  return async ({ tenantId, userId }) => {
    const { rows } = await database.query<Row>({
      name: 'directory.shown_credentials',
      text: `SELECT ${factorColumns}, ${waysIn('u')} AS ways,
             ARRAY(SELECT jsonb_build_object('name', i.provider, 'gone', v.name IS NULL,
                     'linkedAt', round(extract(epoch FROM i.created_at) * 1000))
                   FROM directory.provider_identity i
                   LEFT JOIN directory.provider v
                     ON v.tenant_id = i.tenant_id AND v.name = i.provider AND v.issuer = i.issuer
                  WHERE i.tenant_id = u.tenant_id AND i.user_id = u.user_id
                  ORDER BY i.provider) AS providers,
             ARRAY(SELECT jsonb_build_object('purpose', l.purpose,
                     'expiresAt', round(extract(epoch FROM l.expires_at) * 1000))
                   FROM directory.password_link l
                  WHERE l.tenant_id = u.tenant_id AND l.user_id = u.user_id AND ${works}
                  ORDER BY l.purpose) AS links
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2`,
      values: [tenantId, userId],
    });
    const [row] = rows;
    if (row === undefined) throw notFound('The user');
    return {
      waysIn: row.ways,
      hasTotp: row.has_totp,
      recoveryCodes: row.recovery_codes,
      passkeys: row.passkeys.map(({ credentialId: passkeyId, name, synced, createdAt, lastUsedAt }) => ({
        passkeyId,
        name,
        synced,
        createTime: timestampFromMs(createdAt),
        ...(lastUsedAt !== null && { lastUseTime: timestampFromMs(lastUsedAt) }),
      })),
      providers: row.providers.map(({ name, gone, linkedAt }) => ({
        name,
        gone,
        linkTime: timestampFromMs(linkedAt),
      })),
      links: row.links.map(({ purpose, expiresAt }) => ({ purpose, expireTime: timestampFromMs(expiresAt) })),
    };
  };
}
