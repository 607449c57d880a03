import type { Database, Queryable } from '@tessera/stores';
import type { AuditEvent } from '@tessera/audit';
import { type PersonId, insertAuditRows, type AuditRuntime } from '@tessera/directory/ground';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf, ofSignedIn, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';
import { signInTime } from '../change/sign-in-time.postgres.ts';
import { useChallenge } from '../one-time/used-challenges.postgres.ts';
import type { NewPasskey } from './webauthn.ts';

/** A passkey on record. */
export interface StoredPasskey extends Pick<NewPasskey, 'credentialId' | 'publicKey'>, PersonId {
  /** Undefined until the first use of one that came from elsewhere. */
  readonly synced: boolean | undefined;
  readonly userHandle: string;
  readonly rpId: string;
}

/** A passkey with whom and what it is for. */
export type EnrolledPasskey = Omit<NewPasskey, 'verified'> & Pick<StoredPasskey, 'userHandle' | 'rpId'>;

/** More are of no use to a person, and fill the table. */
const mostPasskeys = 20;

export async function findPasskey(
  database: Queryable,
  tenantId: string,
  credentialId: string,
): Promise<StoredPasskey | undefined> {
  const { rows } = await database.query<PasskeyRow>({
    name: 'directory.find_passkey',
    text: `SELECT tenant_id, credential_id, user_id, user_handle, rp_id, public_key,
                  CASE WHEN synced_known THEN synced END AS synced
             FROM directory.passkey WHERE tenant_id = $1 AND credential_id = $2`,
    values: [tenantId, credentialId],
  });
  const [row] = rows;
  return (
    row && {
      tenantId: row.tenant_id,
      credentialId: row.credential_id,
      userId: row.user_id,
      userHandle: row.user_handle,
      rpId: row.rp_id,
      publicKey: Buffer.from(row.public_key),
      synced: row.synced ?? undefined,
    }
  );
}

interface PasskeyRow {
  readonly tenant_id: string;
  readonly credential_id: string;
  readonly user_id: string;
  readonly user_handle: string;
  readonly rp_id: string;
  readonly public_key: Uint8Array;
  readonly synced: boolean | null;
}

/** The passkeys of a person, as browsers are told of them; the oldest first. */
export async function passkeysOfUser(
  database: Queryable,
  { tenantId, userId }: PersonId,
): Promise<{ credentialId: string; userHandle: string; transports: string[] }[]> {
  const { rows } = await database.query<{
    credential_id: string;
    user_handle: string;
    transports: string[];
  }>({
    name: 'directory.passkeys_of_user',
    text: `SELECT credential_id, user_handle, transports FROM directory.passkey
            WHERE tenant_id = $1 AND user_id = $2 ORDER BY created_at LIMIT $3`,
    values: [tenantId, userId, mostPasskeys],
  });
  return rows.map(({ credential_id: credentialId, user_handle: userHandle, transports }) => ({
    credentialId,
    userHandle,
    transports,
  }));
}

/**
 * Enrols a passkey, and uses its challenge up; false if that was used, or the tenant has the passkey, or the person may
 * not have one.
 */
export async function putPasskey(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  enrolled: EnrolledPasskey & Origin & { readonly challenge: string },
): Promise<boolean> {
  const { challenge, ipAddress, requestId, ...passkey } = enrolled;
  return ofSignedIn(database, person, false, async (tx) => {
    if ((await passkeysOfUser(tx, person)).length >= mostPasskeys) return false;
    if (!(await useChallenge(tx, person.tenantId, challenge))) return false;
    if (!(await insertPasskey(tx, person, passkey))) return false;
    const events = [passkeyAdded(person, { ipAddress, requestId })];
    await changePerson(tx, runtime, person, { ends: 'renewed', events, letters: ['passkey-added'] });
    return true;
  });
}

/** Keeps a passkey of a person in a transaction; false if the tenant has it. */
export async function insertPasskey(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  passkey: EnrolledPasskey,
): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.put_passkey',
    text: `INSERT INTO directory.passkey
             (tenant_id, credential_id, user_id, user_handle, rp_id, public_key, sign_count, transports, synced, backed_up, name)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
                   'Passkey ' || to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD'))
           ON CONFLICT (tenant_id, credential_id) DO NOTHING`,
    values: [
      tenantId,
      passkey.credentialId,
      userId,
      passkey.userHandle,
      passkey.rpId,
      passkey.publicKey,
      passkey.signCount,
      passkey.transports,
      passkey.synced,
      passkey.backedUp,
    ],
  });
  return rowCount === 1;
}

/**
 * Keeps the passkey that a person has in place of a password; returns what happened. Throws if the tenant has it
 * already.
 */
export async function insertFirstPasskey(
  tx: Queryable,
  person: PersonId,
  { passkey, ...origin }: Origin & { readonly passkey: EnrolledPasskey },
): Promise<AuditEvent> {
  if (!(await insertPasskey(tx, person, passkey)))
    throw new Error('the passkey was enrolled by another call');
  return passkeyAdded(person, origin);
}

function passkeyAdded(person: PersonId, origin: Origin): AuditEvent {
  return eventOf(person, origin, 'auth.factor.added', { factor: 'passkey' });
}

/**
 * Uses a challenge up and stores the counter of the passkey that answered it. Returns the time of the sign-in, as
 * `confirmSignIn` does: undefined for a challenge that was used, a person who may not sign in, and a counter that did
 * not grow, which is a sign of a copied authenticator (WebAuthn L3 §6.1.1) and has an audit row.
 */
export async function usePasskey(
  database: Database,
  runtime: AuditRuntime,
  { tenantId, userId, credentialId }: StoredPasskey,
  used: Origin & Pick<NewPasskey, 'signCount' | 'backedUp' | 'synced'> & { readonly challenge: string },
): Promise<number | undefined> {
  const { challenge, signCount, backedUp, synced, ...origin } = used;
  return database.transaction(async (tx) => {
    const signedInAt = await signInTime(tx, { tenantId, userId });
    if (signedInAt === undefined || !(await useChallenge(tx, tenantId, challenge))) return undefined;
    const { rowCount } = await tx.query({
      name: 'directory.use_passkey',
      text: `UPDATE directory.passkey
                SET sign_count = $3, backed_up = $4, synced = $5, synced_known = true, last_used_at = clock_timestamp()
              WHERE tenant_id = $1 AND credential_id = $2 AND (sign_count < $3 OR (sign_count = 0 AND $3 = 0))`,
      values: [tenantId, credentialId, signCount, backedUp, synced],
    });
    if (rowCount === 1) return signedInAt;
    if ((await findPasskey(tx, tenantId, credentialId)) === undefined) return undefined;
    const event = eventOf({ tenantId, userId }, origin, 'auth.factor.refused', { factor: 'passkey' });
    await insertAuditRows(tx, [{ ...event, outcome: 'failure', reason: 'counter' }], runtime);
    return undefined;
  });
}
