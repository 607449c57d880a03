import { keepDeleted, takeDeleted } from '../deleted/deleted-records.postgres.ts';
import { tenantValidFrom } from '../ground/valid-from.ts';
import type { Command } from '../ground/command.ts';
import { applicationColumns, type ApplicationRecord } from './fields.ts';

const { names, values, definitions, updates } = applicationColumns;

const putText = `
  INSERT INTO directory.application AS present (tenant_id, ${names}, valid_from)
  SELECT $1, ${values},
         CASE WHEN EXISTS (SELECT FROM directory.former_application f
                            WHERE f.tenant_id = $1 AND f.client_id = a."clientId")
              THEN ${tenantValidFrom('$1')} ELSE 0 END
    FROM jsonb_to_recordset($2::jsonb) AS a(${definitions})
  ON CONFLICT (tenant_id, client_id) DO UPDATE
     SET ${updates}, updated_at = clock_timestamp()`;

/** Creates or changes applications, with their secrets. */
export function putApplications(applications: readonly ApplicationRecord[]): Command {
  // In one order for all writers, as a client ID is unique over all tenants and may be waited for.
  const put = applications.toSorted((left, right) => (left.clientId < right.clientId ? -1 : 1));
  const secrets = put.flatMap(({ clientId, secrets: declared }) =>
    declared.map((secret, position) => ({ ...secret, clientId, position })),
  );
  const trusts = put.flatMap(({ clientId, trusts: declared }) =>
    declared.map(({ issuer, subject, audience }) => ({ issuer, subject, audience, clientId })),
  );
  return async (write) => {
    await write(
      'put_applications',
      putText,
      JSON.stringify(put.map(({ secrets: _, ...application }) => application)),
    );
    await write(
      'delete_secrets',
      `DELETE FROM directory.application_secret s
      WHERE s.tenant_id = $1 AND s.client_id = ANY($2::text[]) AND s.digest <> ALL($3::text[])`,
      put.map(({ clientId }) => clientId),
      secrets.map(({ digest }) => digest),
    );
    // A clock may tell two rows the same time, so those of one command are dated apart.
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
    // All that the applications had, so that one may get what another one of them gives up.
    await write(
      'delete_trusted_subjects',
      'DELETE FROM directory.trusted_subject WHERE tenant_id = $1 AND client_id = ANY($2::text[])',
      put.map(({ clientId }) => clientId),
    );
    if (trusts.length === 0) return;
    await write(
      'put_trusted_subjects',
      `INSERT INTO directory.trusted_subject (tenant_id, issuer, subject, audience, client_id)
     SELECT $1, t.issuer, t.subject, t.audience, t."clientId"
       FROM jsonb_to_recordset($2::jsonb) AS t(issuer text, subject text, audience text, "clientId" text)
      ORDER BY 2, 3, 4`,
      JSON.stringify(trusts),
    );
  };
}

/** Ends everything that was issued to applications; after their change, which locks them. */
export function endApplications(clientIds: readonly string[]): Command {
  return async (write) => {
    await write(
      'end_applications',
      `UPDATE directory.application SET valid_from = ${tenantValidFrom('$1')}
        WHERE tenant_id = $1 AND client_id = ANY($2::text[])`,
      clientIds,
    );
  };
}

/**
 * Deletes applications, and keeps what they were. One that is made again under such an identifier gets back nothing
 * issued before.
 */
export function deleteApplications(applications: readonly ApplicationRecord[]): Command {
  const clientIds = applications.map(({ clientId }) => clientId);
  const kept = applications.map((record) => ({ id: record.clientId, name: record.clientId, record }));
  return async (write) => {
    await write(
      'delete_applications',
      `WITH deleted AS (
       DELETE FROM directory.application a WHERE tenant_id = $1 AND client_id = ANY($2::text[])
       RETURNING client_id AS id, jsonb_build_object('created_at', created_at, 'valid_from', valid_from, 'secrets',
         (SELECT jsonb_agg(to_jsonb(s)) FROM directory.application_secret s
           WHERE s.tenant_id = a.tenant_id AND s.client_id = a.client_id)) AS facts
     ), former AS (
       INSERT INTO directory.former_application (tenant_id, client_id) SELECT $1, id FROM deleted
       ON CONFLICT (tenant_id, client_id) DO UPDATE SET deleted_at = excluded.deleted_at
     )
     ${keepDeleted('application', '$3')}`,
      clientIds,
      JSON.stringify(kept),
    );
  };
}

/**
 * Gives applications that were put again what else was kept of them. Everything issued before their deletion stays
 * invalid.
 */
export function restoreApplications(applications: readonly ApplicationRecord[]): Command {
  const clientIds = applications.map(({ clientId }) => clientId);
  return async (write) => {
    await write(
      'restore_applications',
      `WITH restored AS (${takeDeleted('application', '$2')}), secrets AS (
       UPDATE directory.application_secret s SET created_at = k.created_at, last_used_at = k.last_used_at
         FROM restored r,
              jsonb_to_recordset(nullif(r.facts -> 'secrets', 'null'))
                AS k(digest text, created_at timestamptz, last_used_at timestamptz)
        WHERE s.tenant_id = $1 AND s.client_id = r.id AND s.digest = k.digest
     )
     UPDATE directory.application a
        SET created_at = (r.facts ->> 'created_at')::timestamptz,
            valid_from = greatest((r.facts ->> 'valid_from')::bigint + 1, ${tenantValidFrom('$1')})
       FROM restored r WHERE a.tenant_id = $1 AND a.client_id = r.id`,
      clientIds,
    );
  };
}
