import type { AuditEvent } from '@tessera/audit';
import type { Database, Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { TotpSettings } from '@tessera/directory/records';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf, ofSignedIn, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/** An authenticator app, with its secret as it is stored. */
export interface StoredTotp extends TotpSettings {
  readonly sealed: string;
}

/** Undefined for a person without an authenticator app. */
export async function findTotp(
  database: Queryable,
  { tenantId, userId }: PersonId,
): Promise<StoredTotp | undefined> {
  const { rows } = await database.query<StoredTotp>({
    name: 'directory.find_totp',
    text: 'SELECT sealed, algorithm, digits, period FROM directory.totp WHERE tenant_id = $1 AND user_id = $2',
    values: [tenantId, userId],
  });
  return rows[0];
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

/** Enrols an authenticator app; false if the person has one, or their sign-in does not count. */
export async function putTotp(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { sealed, step, ...origin }: Origin & { readonly sealed: string; readonly step: number },
): Promise<boolean> {
  return ofSignedIn(database, person, false, async (tx) => {
    if (!(await insertTotp(tx, person, { sealed, step }))) return false;
    const events = [totpAdded(person, origin)];
    await changePerson(tx, runtime, person, { ends: 'renewed', events, letters: ['totp-added'] });
    return true;
  });
}

/** Keeps an authenticator app in a transaction with the lock on the row of the person; false if they have one. */
export async function insertTotp(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  { sealed, step }: { readonly sealed: string; readonly step: number },
): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.put_totp',
    text: `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, $3, $4)
           ON CONFLICT (tenant_id, user_id) DO NOTHING`,
    values: [tenantId, userId, sealed, step],
  });
  return rowCount === 1;
}

export function totpAdded(person: PersonId, origin: Origin): AuditEvent {
  return eventOf(person, origin, 'auth.factor.added', { factor: 'totp' });
}
