import type { AuditEvent } from '@tessera/audit';
import type { Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { TotpSettings } from '@tessera/directory/records';
import { eventOf, type Origin } from '../change/own-change.postgres.ts';

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
