import { administratorRole, adminRoles } from '@tessera/oauth';
import { notingAdministered } from '../ground/administered.postgres.ts';
import { apiOwner } from '../fields/owner.ts';
import { keepDeleted, takeDeleted } from '../deleted/deleted-records.postgres.ts';
import { personValidFrom } from '../ground/valid-from.ts';
import type { Command } from '../ground/command.ts';
import { endEmailProofs, keptEmailProof, restoreEmailProofs } from './email-proof.postgres.ts';
import { keptIdentifiers } from './deleted-people.postgres.ts';
import { userColumns, type UserRecord } from './fields.ts';
import { identifiersOf, normalizeIdentifier } from './identifiers.ts';
import { putPreferredNames } from './preferred-names.postgres.ts';
import { keepGivenUserIds } from './subjects.postgres.ts';
import { withheldPassword } from './claims/withheld-password.ts';

const { names, values, definitions, updates } = userColumns;
const passwordChanged = 'present.password_hash IS DISTINCT FROM excluded.password_hash';

/** Creates or changes users, with their identifiers and roles. */
export function putUsers(put: readonly UserRecord[]): Command {
  const ids = put.map(({ userId }) => userId);
  const builtIn = new Set(put.flatMap(({ roles }) => roles.filter((role) => adminRoles.has(role))));
  const rolesGiven = JSON.stringify(
    put.flatMap(({ userId, roles }) => roles.map((role, position) => ({ userId, role, position }))),
  );
  return async (write) => {
    if (builtIn.size > 0) {
      // Who made them may hold less than these people do from now on.
      await write(
        'end_links_of_new_administrators',
        `DELETE FROM directory.password_link l USING jsonb_to_recordset($2::jsonb) AS r("userId" text, role text)
          WHERE l.tenant_id = $1 AND l.user_id = r."userId" AND r.role = ANY($3::text[])
            AND NOT EXISTS (SELECT FROM directory.user_role u
                             WHERE u.tenant_id = $1 AND u.user_id = l.user_id AND u.role = r.role)`,
        rolesGiven,
        [...builtIn],
      );
    }
    await endLinksToFormerAddresses(put)(write);
    await endEmailProofs(put)(write);
    // All of them first, so that two people may swap an address.
    await write(
      'clear_identifiers',
      'DELETE FROM directory.user_identifier WHERE tenant_id = $1 AND user_id = ANY($2::text[])',
      ids,
    );
    await write(
      'clear_user_roles',
      'DELETE FROM directory.user_role WHERE tenant_id = $1 AND user_id = ANY($2::text[])',
      ids,
    );
    await write(
      'put_users',
      `INSERT INTO directory.user_account AS present (tenant_id, ${names})
     SELECT $1, ${values} FROM jsonb_to_recordset($2::jsonb) AS u(${definitions})
     ON CONFLICT (tenant_id, user_id) DO UPDATE
        SET ${updates},
            imported_hash = CASE WHEN ${passwordChanged} THEN NULL ELSE present.imported_hash END,
            updated_at = clock_timestamp()`,
      JSON.stringify(put),
    );
    if (put.some(({ passwordHash }) => passwordHash === withheldPassword)) {
      await write(
        'withhold_passwords',
        `UPDATE directory.user_account SET password_hash = NULL, imported_hash = sha256(convert_to($3, 'UTF8'))
          WHERE tenant_id = $1 AND user_id = ANY($2::text[]) AND password_hash = $3`,
        ids,
        withheldPassword,
      );
    }
    await write(
      'put_identifiers',
      `INSERT INTO directory.user_identifier (tenant_id, identifier, user_id)
     SELECT $1, i.identifier, i."userId" FROM jsonb_to_recordset($2::jsonb) AS i(identifier text, "userId" text)`,
      JSON.stringify(
        put.flatMap((user) => identifiersOf(user).map((identifier) => ({ identifier, userId: user.userId }))),
      ),
    );
    await keepGivenUserIds(put)(write);
    await putPreferredNames(put)(write);
    if (builtIn.size > 0) {
      await write(
        'put_built_in_roles',
        `INSERT INTO directory.role (tenant_id, name, owner) SELECT $1, name, '${apiOwner}' FROM unnest($2::text[]) AS r(name)
         ON CONFLICT DO NOTHING`,
        [...builtIn],
      );
    }
    await write(
      'put_user_roles',
      `INSERT INTO directory.user_role (tenant_id, user_id, role, position)
     SELECT $1, r."userId", r.role, r.position
       FROM jsonb_to_recordset($2::jsonb) AS r("userId" text, role text, position integer)`,
      rolesGiven,
    );
    if (builtIn.has(administratorRole)) await notingAdministered(write);
  };
}

/** Ends the links of people whose address changes: they may lie in a mailbox that is somebody else's from now on. */
function endLinksToFormerAddresses(put: readonly UserRecord[]): Command {
  return async (write) => {
    await write(
      'end_links_to_former_addresses',
      `WITH moved AS (
         SELECT u.user_id FROM directory.user_account u
           JOIN jsonb_to_recordset($2::jsonb) AS r("userId" text, email text) ON r."userId" = u.user_id
          WHERE u.tenant_id = $1 AND u.email NOT IN ('', r.email)
       ), proposed AS (
         DELETE FROM directory.email_link l USING moved WHERE l.tenant_id = $1 AND l.user_id = moved.user_id
       )
       DELETE FROM directory.password_link l USING moved
        WHERE l.tenant_id = $1 AND l.user_id = moved.user_id AND l.purpose <> 'bootstrap'`,
      JSON.stringify(put.map(({ userId, email }) => ({ userId, email }))),
    );
  };
}

/** Ends everything that was issued to people; after their change, which locks them. */
export function endPeople(userIds: readonly string[]): Command {
  return async (write) => {
    await write(
      'end_people',
      `UPDATE directory.user_account u SET valid_from = ${personValidFrom('u')}, updated_at = clock_timestamp()
        WHERE u.tenant_id = $1 AND u.user_id = ANY($2::text[])`,
      userIds,
    );
  };
}

/** Deletes users, and keeps what they were. */
export function deleteUsers(users: readonly UserRecord[]): Command {
  const ids = users.map(({ userId }) => userId);
  const kept = users.map((record) => ({
    id: record.userId,
    name: normalizeIdentifier(record.username),
    record,
  }));
  return async (write) => {
    if (users.some(({ roles }) => roles.includes(administratorRole))) await notingAdministered(write);
    await write(
      'delete_users',
      `WITH deleted AS (
       DELETE FROM directory.user_account u WHERE tenant_id = $1 AND user_id = ANY($2::text[])
       RETURNING user_id AS id, jsonb_build_object('created_at', created_at, 'valid_from', valid_from,
                                                   'locked_down_at', locked_down_at, 'imported_hash', imported_hash,
                                                   'identifiers', ${keptIdentifiers('u')},
                                                   'email_proof', ${keptEmailProof('u')}) AS facts
     )
     ${keepDeleted('user', '$3')}`,
      ids,
      JSON.stringify(kept),
    );
  };
}

/**
 * Gives users that were put again what else was kept of them. Everything issued to them before their deletion stays
 * invalid.
 */
export function restoreUsers(users: readonly UserRecord[]): Command {
  const ids = users.map(({ userId }) => userId);
  return async (write) => {
    await write(
      'restore_users',
      `WITH restored AS (${takeDeleted('user', '$2')}), proven AS (${restoreEmailProofs('restored')})
     UPDATE directory.user_account u
        SET created_at = (r.facts ->> 'created_at')::timestamptz, imported_hash = (r.facts ->> 'imported_hash')::bytea,
            locked_down_at = coalesce((r.facts ->> 'locked_down_at')::bigint, 0),
            valid_from = ${personValidFrom('u', `(r.facts ->> 'valid_from')::bigint`)}
       FROM restored r WHERE u.tenant_id = $1 AND u.user_id = r.id`,
      ids,
    );
  };
}
