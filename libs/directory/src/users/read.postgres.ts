import { userIdPrefix } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { FoundForPassword, FoundUser, StandInPosition } from './found-user.ts';
import { secondFactorsOfUser } from '../ground/second-factors-of-user.ts';
import { areActive } from '../ground/ways-in.postgres.ts';
import { tenantColumns } from '../tenants/fields.ts';
import { userColumns, type DeclaredUser, type UserRecord } from './fields.ts';
import { normalizeIdentifier, storedForms } from './identifiers.ts';
import { peopleHaving } from './preferred-names.postgres.ts';

type FoundRow = Readonly<Record<string, unknown>> & {
  readonly valid_from: number;
  readonly updated_at: number;
  readonly second_factors: string[];
  readonly unlocked_at: number;
  readonly locked_down_at: number;
};

const userFacts = `${secondFactorsOfUser}, u.unlocked_at::float8 AS unlocked_at,
  u.locked_down_at::float8 AS locked_down_at,
  greatest(u.valid_from, t.valid_from)::float8 AS valid_from,
  floor(extract(epoch FROM u.updated_at))::float8 AS updated_at`;

/** Undefined if unknown. */
export async function findUser(
  database: Queryable,
  tenantId: string,
  userId: string,
): Promise<FoundUser | undefined> {
  const { rows } = await database.query<FoundRow>({
    name: 'directory.find_user',
    text: `SELECT ${tenantColumns.selected}, ${userColumns.selected}, ${userFacts}
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId],
  });
  return foundUser(rows);
}

/** In no order; without those that are unknown. */
export async function findUsers(
  database: Queryable,
  tenantId: string,
  userIds: readonly string[],
): Promise<FoundUser[]> {
  const { rows } = await database.query<FoundRow>({
    name: 'directory.find_users',
    text: `SELECT ${tenantColumns.selected}, ${userColumns.selected}, ${userFacts}
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = ANY($2::text[])`,
    values: [tenantId, userIds],
  });
  return rows.map(foundUserOf);
}

/** By normalized user name, e-mail address or phone number. */
export async function findUserByIdentifier(
  database: Queryable,
  tenantId: string,
  identifier: string,
): Promise<FoundUser | undefined> {
  const { rows } = await database.query<FoundRow>({
    name: 'directory.find_user_by_identifier',
    text: `SELECT ${tenantColumns.selected}, ${userColumns.selected}, ${userFacts}
             FROM directory.user_identifier i
             JOIN directory.user_account u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
             JOIN directory.tenant t ON t.tenant_id = i.tenant_id
            WHERE i.tenant_id = $1 AND i.identifier = ANY($2::text[])
            ORDER BY array_position($2::text[], i.identifier) LIMIT 1`,
    values: [tenantId, storedForms(identifier)],
  });
  return foundUser(rows);
}

/** The share lock waits for a change that is under way, and a change that comes later is dated after it. */
export async function confirmSignIn(
  database: Queryable,
  tenantId: string,
  userId: string,
  passwordHash: string,
): Promise<number | undefined> {
  const { rows } = await database.query<{ signed_in_at: number }>({
    name: 'directory.confirm_sign_in',
    text: `SELECT greatest(u.valid_from * 1000, t.valid_from * 1000,
                           floor(extract(epoch FROM clock_timestamp()) * 1000))::float8 AS signed_in_at
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2 AND u.password_hash = $3
              AND ${areActive('u', 't')}
              FOR SHARE`,
    values: [tenantId, userId, passwordHash],
  });
  return rows[0]?.signed_in_at;
}

/** What a sign-in by password is checked against, in one statement whoever has the identifier. */
export async function findForPassword(
  database: Queryable,
  tenantId: string,
  identifier: string,
  { made, given, prefersGiven }: StandInPosition,
): Promise<FoundForPassword> {
  const from = (condition: string) => `(
    SELECT password_hash FROM directory.user_account
     WHERE tenant_id = $1 AND password_hash IS NOT NULL AND ${condition} ORDER BY user_id LIMIT 1)`;
  const { rows } = await database.query<FoundRow & { is_found: boolean; stand_in: string | null }>({
    name: 'directory.find_for_password',
    text: `SELECT ${tenantColumns.selected}, ${userColumns.selected}, ${userFacts},
                  i.user_id IS NOT NULL AS is_found, other.stand_in
             FROM (SELECT (${from(`$5 AND user_id > $4 AND user_id < '${userIdPrefix}'`)} UNION ALL
                           ${from('user_id > $3')} UNION ALL
                           ${from('user_id > $4')} UNION ALL ${from('user_id <= $4')} LIMIT 1) AS stand_in) AS other
             LEFT JOIN (directory.user_identifier i
                        JOIN directory.user_account u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
                        JOIN directory.tenant t ON t.tenant_id = i.tenant_id)
                    ON i.tenant_id = $1 AND i.identifier = ANY($2::text[])
            ORDER BY array_position($2::text[], i.identifier) LIMIT 1`,
    values: [tenantId, storedForms(identifier), made, given, prefersGiven],
  });
  const [row] = rows;
  return {
    found: row?.is_found === true ? foundUserOf(row) : undefined,
    standIn: row?.stand_in ?? undefined,
  };
}

/** The users of a tenant who sign in with, or are called by, one of these normalized names, or have these ids. */
export async function readUsersAmong(
  tx: Queryable,
  tenantId: string,
  { names, userIds }: { readonly names: readonly string[]; readonly userIds: readonly string[] },
): Promise<UserRecord[]> {
  const named = await readUsersNamed(tx, tenantId, names);
  if (userIds.length === 0) return named;
  const { rows } = await tx.query({
    name: 'directory.read_users_of_ids',
    text: `SELECT ${userColumns.selected} FROM directory.user_account u
            WHERE u.tenant_id = $1 AND u.user_id = ANY($2::text[])`,
    values: [tenantId, userIds],
  });
  const known = new Set(named.map(({ userId }) => userId));
  return [...named, ...rows.map(userColumns.read).filter(({ userId }) => !known.has(userId))];
}

/** The people who have the identifiers or the user names of declared ones, and perhaps others. */
export async function readDeclaredTotps(
  queryable: Queryable,
  tenantId: string,
  declared: readonly Pick<DeclaredUser, 'username' | 'userId'>[],
): Promise<Pick<UserRecord, 'userId' | 'username' | 'declaredTotp'>[]> {
  const { rows } = await queryable.query<{ user_id: string; username: string; declared_totp: string | null }>(
    {
      name: 'directory.read_declared_totps',
      text: `SELECT user_id, username, declared_totp FROM directory.user_account
            WHERE tenant_id = $1 AND user_id IN (SELECT user_id FROM directory.user_identifier
                                                  WHERE tenant_id = $1 AND identifier = ANY($2::text[]))
            UNION
           SELECT user_id, username, declared_totp FROM directory.user_account
            WHERE tenant_id = $1 AND user_id = ANY($3::text[])`,
      values: [
        tenantId,
        declared.flatMap(({ username }) => storedForms(normalizeIdentifier(username))),
        declared.flatMap(({ userId }) => userId ?? []),
      ],
    },
  );
  return rows.map((row) => ({
    userId: row.user_id,
    username: row.username,
    declaredTotp: row.declared_totp ?? undefined,
  }));
}

async function readUsersNamed(
  tx: Queryable,
  tenantId: string,
  names: readonly string[],
): Promise<UserRecord[]> {
  if (names.length === 0) return [];
  const { rows } = await tx.query({
    name: 'directory.read_users_named',
    text: `SELECT ${userColumns.selected} FROM ${peopleHaving('$2', '$3', '$2')}`,
    values: [tenantId, names.flatMap(storedForms), names],
  });
  return rows.map(userColumns.read);
}

function foundUser([row]: readonly FoundRow[]): FoundUser | undefined {
  return row && foundUserOf(row);
}

function foundUserOf(row: FoundRow): FoundUser {
  return {
    user: userColumns.read(row),
    updatedAt: row.updated_at,
    tenant: tenantColumns.read(row),
    validFrom: row.valid_from,
    secondFactors: row.second_factors,
    unlockedAt: row.unlocked_at,
    lockedDownAt: row.locked_down_at,
  };
}

/** Which of the normalized identifiers other users of the tenant have. */
export async function takenIdentifiers(
  tx: Queryable,
  { tenantId, userId }: { readonly tenantId: string; readonly userId: string },
  identifiers: readonly string[],
): Promise<string[]> {
  const { rows } = await tx.query<{ identifier: string }>({
    name: 'directory.taken_identifiers',
    text: `SELECT identifier FROM directory.user_identifier
            WHERE tenant_id = $1 AND identifier = ANY($2::text[]) AND user_id <> $3`,
    values: [tenantId, identifiers.flatMap(storedForms), userId],
  });
  return rows.map(({ identifier }) => normalizeIdentifier(identifier));
}
