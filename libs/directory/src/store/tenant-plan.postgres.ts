import type { Queryable } from '@tessera/stores';
import { writeApplications } from '../applications/write.postgres.ts';
import { isEmpty, putOf, type Difference, type TenantPlan } from '../apply/plan.ts';
import { identifiersOf, type ResourceRecord, type UserRecord } from './records.ts';
import { statusChanged, validFromAfter, type Write } from './valid-from.ts';

/**
 * Writes a plan, one statement per table and not per row. The order keeps every foreign key: what refers goes before
 * what it refers to, and comes after it.
 */
export async function writeTenantPlan(tx: Queryable, plan: TenantPlan): Promise<void> {
  const { tenantId } = plan.desired.tenant;
  const write = (name: string, text: string, ...values: unknown[]) =>
    tx.query({ name: `directory.${name}`, text, values: [tenantId, ...values] });
  if (plan.tenant !== 'unchanged') await writeTenant(write, plan);
  if (plan.roles.created.length > 0) {
    await write(
      'put_roles',
      'INSERT INTO directory.role (tenant_id, name) SELECT $1, unnest($2::text[])',
      plan.roles.created,
    );
  }
  if (!isEmpty(plan.resources)) await writeResources(write, plan);
  if (!isEmpty(plan.applications)) await writeApplications(write, plan.applications);
  if (!isEmpty(plan.users)) await writeUsers(write, plan.users);
  if (plan.roles.deleted.length > 0) {
    await write(
      'delete_roles',
      'DELETE FROM directory.role WHERE tenant_id = $1 AND name = ANY($2::text[])',
      plan.roles.deleted,
    );
  }
}

const passwordChanged = 'present.password_hash IS DISTINCT FROM excluded.password_hash';

async function writeTenant(write: Write, { desired }: TenantPlan): Promise<void> {
  await write(
    'put_tenant',
    `INSERT INTO directory.tenant AS present (tenant_id, name, status, issuer) VALUES ($1, $2, $3, $4)
     ON CONFLICT (tenant_id) DO UPDATE
        SET name = excluded.name, status = excluded.status, issuer = excluded.issuer,
            valid_from = ${validFromAfter(statusChanged)}, updated_at = clock_timestamp()`,
    desired.tenant.name,
    desired.tenant.status,
    desired.tenant.issuer,
  );
}

/** Scopes may move between resources, so resources come first and go last. */
async function writeResources(write: Write, { resources, desired }: TenantPlan): Promise<void> {
  const put = putOf(resources);
  const scopes = put.flatMap(({ audience, scopes: declared }: ResourceRecord) =>
    declared.map((scope, position) => ({ ...scope, audience, position })),
  );
  await write(
    'put_resources',
    `INSERT INTO directory.api_resource (tenant_id, audience, name, shared, token_type, scope_format)
     SELECT $1, r.audience, r.name, r.shared, r."tokenType", r."scopeFormat"
       FROM jsonb_to_recordset($2::jsonb)
         AS r(audience text, name text, shared boolean, "tokenType" text, "scopeFormat" text)
     ON CONFLICT (tenant_id, audience) DO UPDATE
        SET name = excluded.name, shared = excluded.shared, token_type = excluded.token_type,
            scope_format = excluded.scope_format`,
    JSON.stringify(put),
  );
  await write(
    'put_scopes',
    `INSERT INTO directory.scope (tenant_id, name, audience, description, position)
     SELECT $1, s.name, s.audience, s.description, s.position
       FROM jsonb_to_recordset($2::jsonb) AS s(name text, audience text, description text, position integer)
     ON CONFLICT (tenant_id, name) DO UPDATE
        SET audience = excluded.audience, description = excluded.description, position = excluded.position`,
    JSON.stringify(scopes),
  );
  await write(
    'delete_scopes',
    'DELETE FROM directory.scope WHERE tenant_id = $1 AND name <> ALL($2::text[])',
    desired.resources.flatMap((resource) => resource.scopes.map(({ name }) => name)),
  );
  await write(
    'delete_resources',
    'DELETE FROM directory.api_resource WHERE tenant_id = $1 AND audience = ANY($2::text[])',
    resources.deleted.map(({ audience }) => audience),
  );
}

async function writeUsers(write: Write, users: Difference<UserRecord>): Promise<void> {
  const put = putOf(users);
  const touched = [...put, ...users.deleted].map(({ userId }) => userId);
  // All of them first, so that two people may swap an address.
  await write(
    'clear_identifiers',
    'DELETE FROM directory.user_identifier WHERE tenant_id = $1 AND user_id = ANY($2::text[])',
    touched,
  );
  await write(
    'clear_user_roles',
    'DELETE FROM directory.user_role WHERE tenant_id = $1 AND user_id = ANY($2::text[])',
    touched,
  );
  await write(
    'delete_users',
    'DELETE FROM directory.user_account WHERE tenant_id = $1 AND user_id = ANY($2::text[])',
    users.deleted.map(({ userId }) => userId),
  );
  await write(
    'put_users',
    `INSERT INTO directory.user_account AS present
            (tenant_id, user_id, username, email, name, phone_number, standard_claims, attributes, status,
             password_hash)
     SELECT $1, u."userId", u.username, u.email, u.name, u."phoneNumber", u."standardClaims", u.attributes, u.status,
            u."passwordHash"
       FROM jsonb_to_recordset($2::jsonb)
         AS u("userId" text, username text, email text, name text, "phoneNumber" text,
              "standardClaims" jsonb, attributes jsonb, status text, "passwordHash" text)
     ON CONFLICT (tenant_id, user_id) DO UPDATE
        SET username = excluded.username, email = excluded.email, name = excluded.name,
            phone_number = excluded.phone_number, standard_claims = excluded.standard_claims,
            attributes = excluded.attributes, status = excluded.status,
            password_hash = excluded.password_hash,
            imported_hash = CASE WHEN ${passwordChanged} THEN NULL ELSE present.imported_hash END,
            valid_from = ${validFromAfter(`${statusChanged} OR ${passwordChanged}`)},
            updated_at = clock_timestamp()`,
    JSON.stringify(put),
  );
  await write(
    'put_identifiers',
    `INSERT INTO directory.user_identifier (tenant_id, identifier, user_id)
     SELECT $1, i.identifier, i."userId" FROM jsonb_to_recordset($2::jsonb) AS i(identifier text, "userId" text)`,
    JSON.stringify(
      put.flatMap((user) => identifiersOf(user).map((identifier) => ({ identifier, userId: user.userId }))),
    ),
  );
  await write(
    'put_user_roles',
    `INSERT INTO directory.user_role (tenant_id, user_id, role, position)
     SELECT $1, r."userId", r.role, r.position
       FROM jsonb_to_recordset($2::jsonb) AS r("userId" text, role text, position integer)`,
    JSON.stringify(
      put.flatMap(({ userId, roles }) => roles.map((role, position) => ({ userId, role, position }))),
    ),
  );
}
