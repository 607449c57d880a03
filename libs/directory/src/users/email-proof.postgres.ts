import type { Queryable } from '@tessera/stores';
import type { Command } from '../ground/command.ts';
import type { PersonId } from '../ground/person-id.ts';
import type { UserRecord } from './fields.ts';
import { normalizeIdentifier } from './identifiers.ts';

/** Who proved that an address is a person's: a provider or, with both empty, a link that was mailed there. */
export interface EmailProver {
  readonly provider: string;
  readonly issuer: string;
}

export const mailedLink: EmailProver = { provider: '', issuer: '' };

/** Keeps who proved the address of a person, in place of who did before. Call it after the change of the record. */
export async function putEmailProof(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  email: string,
  { provider, issuer }: EmailProver,
): Promise<void> {
  await tx.query({
    name: 'directory.put_email_proof',
    text: `INSERT INTO directory.email_proof (tenant_id, user_id, identifier, provider, issuer)
           VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (tenant_id, user_id) DO UPDATE
              SET identifier = excluded.identifier, provider = excluded.provider, issuer = excluded.issuer`,
    values: [tenantId, userId, normalizeIdentifier(email), provider, issuer],
  });
}

/**
 * Who proved the address that a person has; undefined if an administrator says that it is verified, or if nobody knows.
 */
export async function findEmailProver(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  email: string,
): Promise<EmailProver | undefined> {
  const { rows } = await tx.query<{ provider: string; issuer: string }>({
    name: 'directory.find_email_proof',
    text: `SELECT provider, issuer FROM directory.email_proof
            WHERE tenant_id = $1 AND user_id = $2 AND identifier = $3`,
    values: [tenantId, userId, normalizeIdentifier(email)],
  });
  return rows[0];
}

/** The address of a person that a provider proved. */
export interface ProvenEmail extends EmailProver {
  readonly userId: string;
  /** The address, as identifiers are compared. */
  readonly identifier: string;
}

/** What providers proved of the people of a tenant, or of these. Those that the tenant no longer has count, too. */
export async function readProvenEmails(
  tx: Queryable,
  tenantId: string,
  userIds?: readonly string[],
): Promise<ProvenEmail[]> {
  const { rows } = await tx.query<ProvenEmail>({
    name: userIds === undefined ? 'directory.proven_emails' : 'directory.proven_emails_of_people',
    text: `SELECT user_id AS "userId", identifier, provider, issuer FROM directory.email_proof
            WHERE tenant_id = $1 AND provider <> ''${userIds === undefined ? '' : ' AND user_id = ANY($2::text[])'}`,
    values: userIds === undefined ? [tenantId] : [tenantId, userIds],
  });
  return rows;
}

/**
 * Forgets who proved the addresses of people before their records are put, unless they keep address and
 * `emailVerified`: from then on it is who changes the record who says so.
 */
export function endEmailProofs(put: readonly UserRecord[]): Command {
  const said = put.map(({ userId, email, standardClaims }) => ({
    userId,
    identifier: normalizeIdentifier(email),
    verified: standardClaims.emailVerified,
  }));
  return async (write) => {
    await write(
      'end_email_proofs',
      `DELETE FROM directory.email_proof p
        USING directory.user_account u, jsonb_to_recordset($2::jsonb) AS r("userId" text, identifier text, verified boolean)
        WHERE p.tenant_id = $1 AND p.user_id = r."userId" AND u.tenant_id = p.tenant_id AND u.user_id = p.user_id
          AND (p.identifier <> r.identifier
               OR (u.standard_claims ->> 'emailVerified')::boolean IS DISTINCT FROM r.verified)`,
      JSON.stringify(said),
    );
  };
}

/** SQL: who proved the address of the person `u`, as it is kept while they are deleted; null if nobody knows. */
export function keptEmailProof(u: string): string {
  return `(SELECT jsonb_build_object('identifier', e.identifier, 'provider', e.provider, 'issuer', e.issuer)
             FROM directory.email_proof e WHERE e.tenant_id = ${u}.tenant_id AND e.user_id = ${u}.user_id)`;
}

/** SQL: keeps again who proved the addresses of people of the tenant $1. `restored` has their `id` and `facts`. */
export function restoreEmailProofs(restored: string): string {
  return `INSERT INTO directory.email_proof (tenant_id, user_id, identifier, provider, issuer)
          SELECT $1, r.id, r.kept ->> 'identifier', r.kept ->> 'provider', r.kept ->> 'issuer'
            FROM (SELECT id, facts -> 'email_proof' AS kept FROM ${restored}) AS r
           WHERE r.kept ->> 'identifier' IS NOT NULL`;
}
