import type { Queryable } from '@tessera/stores';
import type { Command } from '../ground/command.ts';
import type { UserRecord } from './fields.ts';
import { identifiersOf, storedForms } from './identifiers.ts';
import { namesOf, newNames, preferredNameOf, sharedNames, type NamedPerson } from './preferred-names.ts';

/**
 * The names that a person would share with others, as `sharedNames` says. Nobody else gets one of the person's new
 * names before the commit, unless with the lock of the tenant alone.
 */
export async function namesSharedBy(
  tx: Queryable,
  tenantId: string,
  after: NamedPerson,
  before?: NamedPerson,
): Promise<ReturnType<typeof sharedNames>> {
  const names = newNames(before, after).map(({ name }) => name);
  if (names.length === 0) return [];
  // In one order, so that no two changes wait for each other.
  await tx.query({
    name: 'directory.lock_names',
    text: `SELECT pg_advisory_xact_lock(hashtextextended('tessera.directory.name ' || $1::text || ' ' || n.name, 0))
             FROM (SELECT DISTINCT unnest($2::text[]) AS name ORDER BY 1) AS n`,
    values: [tenantId, names],
  });
  return sharedNames(before, after, namesOf(await peopleOfNames(tx, tenantId, after)));
}

/**
 * For FROM: the people `u` of the tenant `$1` who have an identifier, or a preferred name, that is in an array. They
 * are found first, and each is then looked at by the index: a plan that was made while the tables were small is kept
 * until they are analyzed, and as one join it compared everybody with every name.
 * @param identifiers in their stored forms
 * @param preferred normalized
 * @param earlier the preferred names in their stored forms: earlier versions wrote them as far as SQL compares them
 */
export function peopleHaving(identifiers: string, preferred: string, earlier: string): string {
  return `(
    WITH named AS MATERIALIZED (
      SELECT user_id FROM directory.user_identifier WHERE tenant_id = $1 AND identifier = ANY(${identifiers}::text[])
       UNION
      SELECT user_id FROM directory.preferred_name WHERE tenant_id = $1 AND name = ANY(${preferred}::text[])
       UNION
      SELECT user_id FROM directory.user_account
       WHERE tenant_id = $1 AND standard_claims ? 'preferredUsername'
         AND lower(standard_claims ->> 'preferredUsername') = ANY(${earlier}::text[]))
    SELECT found.* FROM named CROSS JOIN LATERAL (
      SELECT * FROM directory.user_account WHERE tenant_id = $1 AND user_id = named.user_id LIMIT 1) AS found) AS u`;
}

/**
 * The other people of a tenant who sign in with the name by which a person would be known, or are known by one that the
 * person signs in with.
 */
async function peopleOfNames(tx: Queryable, tenantId: string, person: NamedPerson): Promise<NamedPerson[]> {
  const identifiers = identifiersOf(person);
  const { rows } = await tx.query<NamedPerson>({
    name: 'directory.people_of_names',
    text: `SELECT u.user_id AS "userId", u.username, u.email, u.phone_number AS "phoneNumber", u.standard_claims AS "standardClaims"
             FROM ${peopleHaving('$3', '$4', '$5')}
            WHERE u.user_id <> $2`,
    values: [
      tenantId,
      person.userId,
      storedForms(preferredNameOf(person)),
      identifiers,
      identifiers.flatMap(storedForms),
    ],
  });
  return rows;
}

/** Keeps the names by which programs know people, after their records are put. */
export function putPreferredNames(put: readonly UserRecord[]): Command {
  const named = put
    .map((user) => ({ userId: user.userId, name: preferredNameOf(user) }))
    .filter(({ name }) => name !== '');
  return async (write) => {
    await write(
      'put_preferred_names',
      `WITH given AS (
         SELECT n."userId" AS user_id, n.name FROM jsonb_to_recordset($2::jsonb) AS n("userId" text, name text)
       ), without AS (
         DELETE FROM directory.preferred_name p
          WHERE p.tenant_id = $1 AND p.user_id = ANY($3::text[])
            AND NOT EXISTS (SELECT FROM given WHERE given.user_id = p.user_id)
       )
       INSERT INTO directory.preferred_name (tenant_id, user_id, name) SELECT $1, user_id, name FROM given
       ON CONFLICT (tenant_id, user_id) DO UPDATE SET name = excluded.name`,
      JSON.stringify(named),
      put.map(({ userId }) => userId),
    );
  };
}
