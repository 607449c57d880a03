import { isGivenUserId } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { Command } from '../ground/command.ts';
import type { UserRecord } from './fields.ts';

/** What tokens of a tenant have as their subject, as far as it was asked for. */
export interface Subjects {
  /** What people were given, and have or had. */
  readonly ofPeople: ReadonlySet<string>;
  /** Client IDs of applications that there are or were. */
  readonly ofApplications: ReadonlySet<string>;
}

/** Which of these identifiers tokens of a tenant may have as their subject. */
export async function findSubjects(
  tx: Queryable,
  tenantId: string,
  asked: readonly string[],
): Promise<Subjects> {
  if (asked.length === 0) return { ofPeople: new Set(), ofApplications: new Set() };
  const { rows } = await tx.query<{ subject: string; is_person: boolean }>({
    name: 'directory.find_subjects',
    text: `SELECT user_id AS subject, true AS is_person FROM directory.given_user_id
            WHERE tenant_id = $1 AND user_id = ANY($2::text[])
            UNION ALL
           SELECT client_id, false FROM directory.application
            WHERE tenant_id = $1 AND client_id = ANY($2::text[])
            UNION ALL
           SELECT client_id, false FROM directory.former_application
            WHERE tenant_id = $1 AND client_id = ANY($2::text[])`,
    values: [tenantId, asked],
  });
  const of = (isPerson: boolean) =>
    new Set(rows.filter((row) => row.is_person === isPerson).map(({ subject }) => subject));
  return { ofPeople: of(true), ofApplications: of(false) };
}

/** As `findSubjects`, of one. Nobody else gets it before the commit, unless with the lock of the tenant alone. */
export async function lockSubject(tx: Queryable, tenantId: string, asked: string): Promise<Subjects> {
  await tx.query({
    name: 'directory.lock_subject',
    text: `SELECT pg_advisory_xact_lock(hashtextextended('tessera.directory.subject ' || $1::text || ' ' || $2::text, 0))`,
    values: [tenantId, asked],
  });
  return findSubjects(tx, tenantId, [asked]);
}

/** Whether people of a tenant have an identifier that they were given. */
export async function hasGivenUserIds(tx: Queryable, tenantId: string): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.has_given_user_ids',
    text: `SELECT FROM directory.given_user_id g
             JOIN directory.user_account u ON u.tenant_id = g.tenant_id AND u.user_id = g.user_id
            WHERE g.tenant_id = $1 LIMIT 1`,
    values: [tenantId],
  });
  return rows.length > 0;
}

/** Keeps which identifiers people were given, for good. */
export function keepGivenUserIds(put: readonly UserRecord[]): Command {
  const given = put.map(({ userId }) => userId).filter(isGivenUserId);
  return async (write) => {
    if (given.length === 0) return;
    await write(
      'keep_given_user_ids',
      `INSERT INTO directory.given_user_id (tenant_id, user_id) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
      given,
    );
  };
}
