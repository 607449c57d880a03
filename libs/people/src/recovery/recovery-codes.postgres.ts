import type { Database, Queryable } from '@tessera/stores';
import { insertAuditRows, type AuditRuntime, lockTenant, type PersonId } from '@tessera/directory/ground';
import { factorsOfUser } from '../change/factors.postgres.ts';
import { eventOf, lockActive, type Origin } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/** Replaces the recovery codes of a person; false if they have no second factor, or may not sign in. */
export async function replaceRecoveryCodes(
  database: Database,
  runtime: ChangeRuntime,
  person: PersonId,
  { digests, ...origin }: Origin & { readonly digests: readonly Buffer[] },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, person.tenantId, 'together');
    if (!(await lockActive(tx, person)) || (await factorsOfUser(tx, person)).length === 0) return false;
    await setRecoveryCodes(tx, runtime, person, { digests, ...origin });
    return true;
  });
}

/** Makes these the recovery codes of a person, in a transaction with the lock on their row. */
export async function setRecoveryCodes(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  { digests, ...origin }: Origin & { readonly digests: readonly Buffer[] },
): Promise<void> {
  const { tenantId, userId } = person;
  const hadCodes = await forgetRecoveryCodes(tx, person);
  await tx.query({
    name: 'directory.put_recovery_codes',
    text: `INSERT INTO directory.recovery_code (tenant_id, user_id, digest)
           SELECT $1, $2, decode(digest, 'hex') FROM unnest($3::text[]) AS c(digest)`,
    values: [tenantId, userId, digests.map((digest) => digest.toString('hex'))],
  });
  await insertAuditRows(tx, [eventOf(person, origin, 'auth.recovery_codes.replaced')], runtime);
  // The first codes come with a factor, of which the person is told.
  if (hadCodes) await runtime.announce(tx, person, 'recovery-codes-replaced');
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

export async function forgetRecoveryCodes(tx: Queryable, { tenantId, userId }: PersonId): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.forget_recovery_codes',
    text: 'DELETE FROM directory.recovery_code WHERE tenant_id = $1 AND user_id = $2',
    values: [tenantId, userId],
  });
  return rowCount > 0;
}
