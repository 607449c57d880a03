import type { AuditEvent } from '@tessera/audit';
import type { Database, Queryable } from '@tessera/stores';
import { appendChanges } from '../ground/append-changes.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';
import { insertAuditRows, type AuditRuntime } from '../ground/audit-rows.postgres.ts';
import { personValidFrom } from '../ground/valid-from.ts';
import { lockTenant } from '../ground/locks.postgres.ts';
import { secondFactorsOfUser } from '../ground/second-factors-of-user.ts';
import type { PersonId } from '../ground/person-id.ts';

/** Where a person is, and the request. */
export interface Origin {
  readonly ipAddress: string;
  readonly requestId: string;
}

/** Undefined for a person without an authenticator app. */
export async function findTotp(
  database: Queryable,
  { tenantId, userId }: PersonId,
): Promise<string | undefined> {
  const { rows } = await database.query<{ sealed: string }>({
    name: 'directory.find_totp',
    text: 'SELECT sealed FROM directory.totp WHERE tenant_id = $1 AND user_id = $2',
    values: [tenantId, userId],
  });
  return rows[0]?.sealed;
}

/** Uses up a time step and those before it; false if it was used up, or the app was replaced. */
export async function useStep(
  database: Queryable,
  { tenantId, userId }: PersonId,
  { sealed, step }: { readonly sealed: string; readonly step: number },
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'directory.use_totp_step',
    text: `UPDATE directory.totp SET last_step = $4
            WHERE tenant_id = $1 AND user_id = $2 AND sealed = $3 AND last_step < $4`,
    values: [tenantId, userId, sealed, step],
  });
  return rowCount === 1;
}

/** Enrols an authenticator app; false if the person has one, or may not sign in. */
export async function putTotp(
  database: Database,
  runtime: ChangeRuntime,
  person: PersonId,
  { sealed, step, ...origin }: Origin & { readonly sealed: string; readonly step: number },
): Promise<boolean> {
  const { tenantId } = person;
  return database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    return (await lockActive(tx, person)) && addTotp(tx, runtime, person, { sealed, step, ...origin });
  });
}

/** As `putTotp`, in a transaction with the lock on the row of the person. */
export async function addTotp(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  { sealed, step, ...origin }: Origin & { readonly sealed: string; readonly step: number },
): Promise<boolean> {
  const { tenantId, userId } = person;
  const { rowCount } = await tx.query({
    name: 'directory.put_totp',
    text: `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, $3, $4)
           ON CONFLICT (tenant_id, user_id) DO NOTHING`,
    values: [tenantId, userId, sealed, step],
  });
  if (rowCount !== 1) return false;
  const event = eventOf(person, origin, 'auth.factor.added', { factor: 'totp' });
  await insertAuditRows(tx, [event], runtime);
  await runtime.announce(tx, person, 'totp-added');
  await appendChanges(tx, [{ kind: 'user', tenantId, id: userId }]);
  return true;
}

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

/** Which of the second factors a person has: `totp`, `passkey`. */
export async function factorsOfUser(database: Queryable, { tenantId, userId }: PersonId): Promise<string[]> {
  const { rows } = await database.query<{ second_factors: string[] }>({
    name: 'directory.factors_of_user',
    text: `SELECT ${secondFactorsOfUser} FROM directory.user_account u WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId],
  });
  return rows[0]?.second_factors ?? [];
}

/**
 * Removes all second factors of a person, and ends what was issued to them before. Call it with the lock on the row of the person. Returns
 * which they had; if none, nothing has ended.
 */
export async function removeFactors(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  origin: Pick<AuditEvent, 'actor' | 'requestId'>,
): Promise<string[]> {
  const { tenantId, userId } = person;
  const removed = await factorsOfUser(tx, person);
  if (removed.length === 0) return removed;
  await forgetFactors(tx, [person]);
  await tx.query({
    name: 'directory.end_sign_ins',
    text: `UPDATE directory.user_account u SET valid_from = ${personValidFrom('u')}, updated_at = clock_timestamp()
            WHERE tenant_id = $1 AND user_id = $2`,
    values: [tenantId, userId],
  });
  const event = {
    ...origin,
    event: 'auth.factor.removed',
    outcome: 'success',
    tenantId,
    subject: userId,
  } as const;
  await insertAuditRows(
    tx,
    removed.map((factor) => ({ ...event, details: { factor } })),
    runtime,
  );
  await runtime.announce(tx, person, 'factors-removed');
  await appendChanges(tx, [{ kind: 'user', tenantId, id: userId, endsAll: true }]);
  return removed;
}

/** Removes what people who are gone for good had. */
export async function forgetFactors(database: Queryable, people: readonly PersonId[]): Promise<void> {
  if (people.length === 0) return;
  const values = [people.map(({ tenantId }) => tenantId), people.map(({ userId }) => userId)];
  for (const table of ['totp', 'recovery_code', 'passkey'] as const)
    await database.query({
      name: `directory.forget_${table}`,
      text: `DELETE FROM directory.${table} WHERE (tenant_id, user_id) IN (
               SELECT p.tenant_id, p.user_id FROM unnest($1::text[], $2::text[]) AS p(tenant_id, user_id))`,
      values,
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

/** Locks the row of a person; whether they may sign in. */
export async function lockActive(tx: Queryable, { tenantId, userId }: PersonId): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.lock_active_user',
    text: `SELECT u.user_id FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2 AND u.status = 'active' AND t.status = 'active' FOR UPDATE OF u`,
    values: [tenantId, userId],
  });
  return rows.length === 1;
}

/** What a person did to a factor of theirs. */
export function eventOf(
  { tenantId, userId }: PersonId,
  origin: Origin,
  event: string,
  details?: AuditEvent['details'],
): AuditEvent {
  const actor = { type: 'user', id: userId } as const;
  return {
    ...origin,
    event,
    outcome: 'success',
    tenantId,
    subject: userId,
    actor,
    ...(details && { details }),
  };
}
