import type { Database, Queryable } from '@tessera/stores';
import { insertAuditRows, type AuditRuntime, type PersonId } from '@tessera/directory/ground';
import type { PersonChange } from '../change/change-person.postgres.ts';
import { eventOf, type Origin } from '../change/own-change.postgres.ts';

/**
 * Makes these the recovery codes of a person, in a transaction with the lock on their row. Returns whether they had
 * any.
 */
export async function setRecoveryCodes(
  tx: Queryable,
  person: PersonId,
  digests: readonly Buffer[],
): Promise<boolean> {
  const { tenantId, userId } = person;
  const hadCodes = await forgetRecoveryCodes(tx, person);
  await tx.query({
    name: 'directory.put_recovery_codes',
    text: `INSERT INTO directory.recovery_code (tenant_id, user_id, digest)
           SELECT $1, $2, decode(digest, 'hex') FROM unnest($3::text[]) AS c(digest)`,
    values: [tenantId, userId, digests.map((digest) => digest.toString('hex'))],
  });
  return hadCodes;
}

/** What new recovery codes do besides. The first ones come with a factor, of which the person is told. */
export function codesReplaced(
  person: PersonId,
  origin: Origin,
  hadCodes: boolean,
): PersonChange & Required<Pick<PersonChange, 'letters'>> {
  const events = [eventOf(person, origin, 'auth.recovery_codes.replaced')];
  return { ends: 'nothing', events, letters: hadCodes ? ['recovery-codes-replaced'] : [] };
}

/** Uses up a recovery code; false if there is no such code. */
export async function useRecoveryCode(
  database: Database,
  runtime: AuditRuntime,
  person: PersonId,
  { digest, ...origin }: Origin & { readonly digest: Buffer },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const { rowCount } = await tx.query({
      name: 'directory.use_recovery_code',
      text: 'DELETE FROM directory.recovery_code WHERE tenant_id = $1 AND user_id = $2 AND digest = $3',
      values: [person.tenantId, person.userId, digest],
    });
    if (rowCount !== 1) return false;
    await insertAuditRows(tx, [eventOf(person, origin, 'auth.recovery_code.used')], runtime);
    return true;
  });
}

async function forgetRecoveryCodes(tx: Queryable, { tenantId, userId }: PersonId): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.forget_recovery_codes',
    text: 'DELETE FROM directory.recovery_code WHERE tenant_id = $1 AND user_id = $2',
    values: [tenantId, userId],
  });
  return rowCount > 0;
}
