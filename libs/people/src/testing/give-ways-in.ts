import type { PersonId } from '@tessera/directory/ground';
import type { Queryable } from '@tessera/stores';

/** A provider of the tenant; returns its issuer. */
export async function putProvider(database: Queryable, tenantId: string, name: string): Promise<string> {
  const issuer = issuerOf(name);
  await database.query({
    name: 'test.put_provider',
    text: `INSERT INTO directory.provider
             (tenant_id, name, preset, issuer, client_id, sealed_secret, display_name, scopes, domains, linking, creates_accounts, owner)
           VALUES ($1, $2, 'none', $3, 'tessera', '', $2, '{openid}', '{}', 'never', false, 'api') ON CONFLICT DO NOTHING`,
    values: [tenantId, name, issuer],
  });
  return issuer;
}

/** A password that nobody knows. */
export async function givePassword(database: Queryable, { tenantId, userId }: PersonId): Promise<void> {
  await database.query({
    name: 'test.give_password',
    text: `UPDATE directory.user_account SET password_hash = 'x' WHERE tenant_id = $1 AND user_id = $2`,
    values: [tenantId, userId],
  });
}

/** A passkey that nobody has. */
export async function givePasskey(
  database: Queryable,
  { tenantId, userId }: PersonId,
  credentialId = userId,
): Promise<void> {
  await database.query({
    name: 'test.give_passkey',
    text: `INSERT INTO directory.passkey (tenant_id, credential_id, user_id, user_handle, rp_id, public_key, sign_count, transports, synced, backed_up, name)
           VALUES ($1, $3, $2, $2, 'id.example', '', 0, '{}', false, false, '')`,
    values: [tenantId, userId, credentialId],
  });
}

/** What a person has at a provider, which may be gone, or have another issuer by now. */
export async function giveIdentity(
  database: Queryable,
  { tenantId, userId }: PersonId,
  provider: string,
  issuer = issuerOf(provider),
): Promise<void> {
  await database.query({
    name: 'test.give_identity',
    text: `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
           VALUES ($1, $2, $3, $4, $4)`,
    values: [tenantId, provider, issuer, userId],
  });
}

function issuerOf(provider: string): string {
  return `https://${provider}.example`;
}
