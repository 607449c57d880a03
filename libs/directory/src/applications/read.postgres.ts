import type { Database, Queryable } from '@tessera/stores';
import type { FoundApplication, FoundScope } from './found-application.ts';
import type { FoundSecrets, ListedSecret, SecretUse } from '../secrets/found-secrets.ts';
import { tokenColumns } from '../resources/fields.ts';
import { tenantColumns } from '../tenants/fields.ts';
import { applicationColumns, type ApplicationRecord } from './fields.ts';
import { secretIdOf } from '../secrets/declared-secrets.ts';

type Row = Readonly<Record<string, unknown>>;

/** Scopes in the order of the registration, with what their API resource says about them. */
const scopesOfApplication = `(
  SELECT coalesce(jsonb_agg(jsonb_build_object('name', granted.name, 'audience', coalesce(s.audience, ''),
           'description', coalesce(s.description, ''), 'descriptions', coalesce(s.descriptions, '{}'),
           'resourceName', coalesce(r.name, ''),
           ${tokenColumns})
           ORDER BY granted.position), '[]')
    FROM unnest(a.scopes) WITH ORDINALITY AS granted(name, position)
    LEFT JOIN directory.scope s ON s.tenant_id = a.tenant_id AND s.name = granted.name
    LEFT JOIN directory.api_resource r ON r.tenant_id = s.tenant_id AND r.audience = s.audience)`;

/** Undefined if unknown. */
export async function findApplication(
  database: Database,
  clientId: string,
): Promise<FoundApplication | undefined> {
  const { rows } = await database.query<
    Row & { readonly valid_from: number; readonly found_scopes: FoundScope[] }
  >({
    name: 'directory.find_application',
    text: `SELECT ${tenantColumns.selected}, ${applicationColumns.selected}, ${scopesOfApplication} AS found_scopes,
                  a.valid_from::float8 AS valid_from
             FROM directory.application a JOIN directory.tenant t ON t.tenant_id = a.tenant_id
            WHERE a.client_id = $1`,
    values: [clientId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    application: applicationColumns.read(row),
    scopes: row.found_scopes,
    tenant: tenantColumns.read(row),
    validFrom: row.valid_from,
  };
}

/** Undefined for an unknown application; an empty list for one without valid secrets. */
export async function findSecrets(database: Database, clientId: string): Promise<FoundSecrets | undefined> {
  const { rows } = await database.query<{
    tenant_id: string;
    digest: string | null;
    expires_at: Date | null;
  }>({
    name: 'directory.find_secrets',
    text: `SELECT a.tenant_id, s.digest, s.expires_at
             FROM directory.application a
             LEFT JOIN directory.application_secret s
               ON s.tenant_id = a.tenant_id AND s.client_id = a.client_id
              AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
            WHERE a.client_id = $1`,
    values: [clientId],
  });
  const [first] = rows;
  if (first === undefined) return undefined;
  const secrets = rows.flatMap(({ digest, expires_at }) =>
    digest === null ? [] : [{ digest, expiresAt: expires_at?.getTime() }],
  );
  return { tenantId: first.tenant_id, secrets };
}

/** All secrets in order of creation; undefined for an unknown application. */
export async function listSecrets(
  database: Database,
  clientId: string,
): Promise<readonly ListedSecret[] | undefined> {
  const { rows } = await database.query<{
    digest: string;
    created_at: Date | null;
    expires_at: Date | null;
    last_used_at: Date | null;
  }>({
    name: 'directory.list_secrets',
    text: `SELECT s.digest, s.created_at, s.expires_at, s.last_used_at
             FROM directory.application a
             LEFT JOIN directory.application_secret s
               ON s.tenant_id = a.tenant_id AND s.client_id = a.client_id
            WHERE a.client_id = $1
            ORDER BY s.created_at, s.digest`,
    values: [clientId],
  });
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ digest, created_at, expires_at, last_used_at }) =>
    created_at === null
      ? []
      : [
          {
            secretId: secretIdOf(digest),
            createdAt: created_at.getTime(),
            expiresAt: expires_at?.getTime(),
            lastUsedAt: last_used_at?.getTime(),
          },
        ],
  );
}

/** Records uses of secrets, in any order. */
export async function noteSecretUses(database: Database, uses: readonly SecretUse[]): Promise<void> {
  await database.query({
    name: 'directory.note_secret_uses',
    text: `UPDATE directory.application_secret s
              SET last_used_at = greatest(s.last_used_at, to_timestamp(u."usedAt" / 1000.0))
             FROM jsonb_to_recordset($1::jsonb)
               AS u("tenantId" text, "clientId" text, digest text, "usedAt" double precision)
            WHERE s.tenant_id = u."tenantId" AND s.client_id = u."clientId" AND s.digest = u.digest`,
    values: [JSON.stringify(uses)],
  });
}

/** For SELECT: an application, with its secrets. */
export const selectedOfApplication = `${applicationColumns.selected},
  (SELECT coalesce(jsonb_agg(jsonb_build_array(s.digest, (extract(epoch FROM s.expires_at) * 1000)::bigint::text)
            ORDER BY s.created_at, s.digest), '[]')
     FROM directory.application_secret s
    WHERE s.tenant_id = a.tenant_id AND s.client_id = a.client_id) AS secrets`;

/** The application of a row of `selectedOfApplication`. */
export function readApplication(row: Row): ApplicationRecord {
  const secrets = row['secrets'] as readonly [digest: string, expiresAt: string | null][];
  return {
    ...applicationColumns.read(row),
    secrets: secrets.map(([digest, expiresAt]) => ({
      digest,
      expiresAt: expiresAt === null ? undefined : Number(expiresAt),
    })),
  };
}

/**
 * SQL: what the application `a` is made for, as far as its grant types say it. A public application is native if an
 * address that people come back to is none of the web, or has any port.
 */
const kind = `CASE
  WHEN 'authorization_code' = ANY (a.grant_types) THEN CASE
    WHEN a.type = 'confidential' THEN 'web'
    WHEN a.loopback_ports = 'any' OR EXISTS (SELECT FROM unnest(a.redirect_uris) AS uri WHERE uri !~ '^https?:') THEN 'native'
    ELSE 'single-page' END
  WHEN 'device_code' = ANY (a.grant_types) THEN 'device'
  WHEN 'ciba' = ANY (a.grant_types) THEN 'approvals'
  WHEN a.grant_types && ARRAY['client_credentials', 'jwt_bearer'] THEN 'service'
  ELSE 'api' END`;

/** SQL: of the conditions of a list, those whose values are not empty. */
export const narrowedApplications = `
  AND ($6 = '' OR ${kind} = $6) AND ($7 = '' OR a.status = $7) AND ($8 = '' OR a.owner = $8)`;

/** What an application is made for, and when a secret of it was last used. */
interface Use {
  readonly clientId: string;
  readonly kind: string;
  readonly lastUsedAt: Date | null;
}

/** Of applications of a tenant, in no order. */
export async function usesOfApplications(
  queryable: Queryable,
  tenantId: string,
  clientIds: readonly string[],
): Promise<readonly Use[]> {
  if (clientIds.length === 0) return [];
  const { rows } = await queryable.query<Use>({
    name: 'directory.uses_of_applications',
    text: `SELECT a.client_id AS "clientId", ${kind} AS kind,
                  (SELECT max(s.last_used_at) FROM directory.application_secret s
                    WHERE s.tenant_id = a.tenant_id AND s.client_id = a.client_id) AS "lastUsedAt"
             FROM directory.application a WHERE a.tenant_id = $1 AND a.client_id = ANY ($2)`,
    values: [tenantId, clientIds],
  });
  return rows;
}
