import type { Queryable } from '@tessera/stores';

/** Whose secret it is: an application, or a provider of a tenant. */
export interface SecretOwner {
  readonly tenantId: string;
  /** The client id, or the name of the provider. */
  readonly name: string;
}

/** Who has secrets here, by name; no value of one. */
export interface StoredSecrets {
  /** Applications with a secret that has not expired. */
  readonly applications: readonly SecretOwner[];
  readonly providers: readonly SecretOwner[];
}

const rowsAtOnce = 1_000;

/** Reads whose secrets of all tenants are stored, some at a time. Changes nothing. */
export async function findStoredSecrets(database: Queryable): Promise<StoredSecrets> {
  return {
    applications: await all((after) => applicationsAfter(database, after)),
    providers: await all((after) => providersAfter(database, after)),
  };
}

async function applicationsAfter(
  database: Queryable,
  { tenantId, name }: SecretOwner,
): Promise<SecretOwner[]> {
  const { rows } = await database.query<SecretOwner>({
    name: 'directory.applications_with_secrets',
    text: `SELECT DISTINCT tenant_id AS "tenantId", client_id AS name FROM directory.application_secret
            WHERE (tenant_id, client_id) > ($1, $2) AND (expires_at IS NULL OR expires_at > statement_timestamp())
            ORDER BY 1, 2 LIMIT $3`,
    values: [tenantId, name, rowsAtOnce],
  });
  return rows;
}

async function providersAfter(database: Queryable, { tenantId, name }: SecretOwner): Promise<SecretOwner[]> {
  const { rows } = await database.query<SecretOwner>({
    name: 'directory.providers_with_secrets',
    text: `SELECT tenant_id AS "tenantId", name FROM directory.provider
            WHERE (tenant_id, name) > ($1, $2) AND sealed_secret <> '' ORDER BY 1, 2 LIMIT $3`,
    values: [tenantId, name, rowsAtOnce],
  });
  return rows;
}

async function all(next: (after: SecretOwner) => Promise<SecretOwner[]>): Promise<SecretOwner[]> {
  const found: SecretOwner[] = [];
  for (;;) {
    const rows = await next(found.at(-1) ?? { tenantId: '', name: '' });
    found.push(...rows);
    if (rows.length < rowsAtOnce) return found;
  }
}
