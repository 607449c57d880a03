import type { Database, Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';

/** The last sign-in of a person. */
export interface NotedSignIn extends PersonId {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

/**
 * Keeps the last sign-ins of people, in any order. Those whom another statement changes at the moment are left out:
 * they sign in, or are deleted, at the same time.
 */
export async function noteSignIns(database: Database, signIns: readonly NotedSignIn[]): Promise<void> {
  await database.query({
    name: 'directory.note_sign_ins',
    text: `WITH noted AS (
             SELECT * FROM jsonb_to_recordset($1::jsonb) AS n("tenantId" text, "userId" text, at double precision)
           ), mine AS (
             SELECT s.tenant_id, s.user_id FROM directory.person_seen s
               JOIN noted n ON n."tenantId" = s.tenant_id AND n."userId" = s.user_id
                FOR UPDATE OF s SKIP LOCKED
           )
           UPDATE directory.person_seen s
              SET signed_in_at = greatest(s.signed_in_at, to_timestamp(n.at / 1000)),
                  seen_at = greatest(s.seen_at, to_timestamp(n.at / 1000))
             FROM noted n JOIN mine ON mine.tenant_id = n."tenantId" AND mine.user_id = n."userId"
            WHERE s.tenant_id = mine.tenant_id AND s.user_id = mine.user_id`,
    values: [JSON.stringify(signIns)],
  });
}

/** Removes it of people who are gone for good. */
export async function forgetSignIns(queryable: Queryable, people: readonly PersonId[]): Promise<void> {
  await queryable.query({
    name: 'directory.forget_sign_ins',
    text: `DELETE FROM directory.person_seen s
            USING jsonb_to_recordset($1::jsonb) AS p("tenantId" text, "userId" text)
            WHERE s.tenant_id = p."tenantId" AND s.user_id = p."userId"`,
    values: [JSON.stringify(people)],
  });
}
