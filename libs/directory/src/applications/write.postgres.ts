import { putOf, type Difference } from '../apply/plan.ts';
import { statusChanged, validFromAfter, validFromNow, type Write } from '../store/valid-from.ts';
import { applicationColumns, type ApplicationRecord } from './fields.ts';

/** Writes the changes of the applications of a tenant with their secrets, one statement per table. */
export async function writeApplications(
  write: Write,
  applications: Difference<ApplicationRecord>,
): Promise<void> {
  const put = putOf(applications);
  const secrets = put.flatMap(({ clientId, secrets: declared }) =>
    declared.map((secret, position) => ({ ...secret, clientId, position })),
  );
  await write(
    'delete_applications',
    `WITH deleted AS (
       DELETE FROM directory.application WHERE tenant_id = $1 AND client_id = ANY($2::text[])
       RETURNING tenant_id, client_id
     )
     INSERT INTO directory.former_application (tenant_id, client_id) SELECT tenant_id, client_id FROM deleted
     ON CONFLICT (tenant_id, client_id) DO UPDATE SET deleted_at = excluded.deleted_at`,
    applications.deleted.map(({ clientId }) => clientId),
  );
  await write(
    'put_applications',
    putApplications,
    JSON.stringify(put.map(({ secrets: _, ...application }) => application)),
  );
  await write(
    'delete_secrets',
    `DELETE FROM directory.application_secret s
      WHERE s.tenant_id = $1 AND s.client_id = ANY($2::text[]) AND s.digest <> ALL($3::text[])`,
    put.map(({ clientId }) => clientId),
    secrets.map(({ digest }) => digest),
  );
  // A clock may tell two rows the same time, so those of one file are dated apart.
  await write(
    'put_secrets',
    `INSERT INTO directory.application_secret (tenant_id, client_id, digest, expires_at, created_at)
     SELECT $1, s."clientId", s.digest, to_timestamp(s."expiresAt" / 1000.0),
            statement_timestamp() + s.position * interval '1 microsecond'
       FROM jsonb_to_recordset($2::jsonb)
         AS s("clientId" text, digest text, "expiresAt" double precision, position integer)
     ON CONFLICT (tenant_id, client_id, digest) DO UPDATE SET expires_at = excluded.expires_at`,
    JSON.stringify(secrets),
  );
}

const { names, values, definitions, updates } = applicationColumns;

const putApplications = `
  INSERT INTO directory.application AS present (tenant_id, ${names}, valid_from)
  SELECT $1, ${values},
         CASE WHEN EXISTS (SELECT FROM directory.former_application f
                            WHERE f.tenant_id = $1 AND f.client_id = a."clientId")
              THEN ${validFromNow('0')} ELSE 0 END
    FROM jsonb_to_recordset($2::jsonb) AS a(${definitions})
  ON CONFLICT (tenant_id, client_id) DO UPDATE
     SET ${updates},
         valid_from = ${validFromAfter(statusChanged)}, updated_at = clock_timestamp()`;
