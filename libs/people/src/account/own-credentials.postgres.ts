import type { Database, Queryable } from '@tessera/stores';
import { areActive, type PersonId } from '@tessera/directory/ground';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf, ofSignedIn, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/** Who a person is, and how they sign in. */
export interface OwnCredentials {
  readonly name: string;
  /** Empty without one. */
  readonly email: string;
  readonly emailVerified: boolean;
  /** Who changes the record. */
  readonly owner: string;
  /** The oldest first. */
  readonly passkeys: readonly OwnPasskey[];
  readonly hasTotp: boolean;
  readonly recoveryCodes: number;
  /** Those of the tenant and those that the person is linked to, in the order of their names. */
  readonly providers: readonly OwnProvider[];
}

interface OwnProvider {
  readonly name: string;
  readonly displayName: string;
  /** Milliseconds since the Unix epoch; null if the person is not linked to it. */
  readonly linkedAt: number | null;
}

/** Times are milliseconds since the Unix epoch. */
interface OwnPasskey {
  /** Base64url. */
  readonly credentialId: string;
  readonly name: string;
  readonly createdAt: number;
  /** Null if it was not used yet. */
  readonly lastUsedAt: number | null;
  readonly synced: boolean;
  readonly rpId: string;
  /** Base64url. */
  readonly userHandle: string;
}

/** SQL: the passkeys, the app and the recovery codes of the person `u`. */
export const factorColumns = `
             ARRAY(SELECT jsonb_build_object('credentialId', p.credential_id, 'name', p.name, 'synced', p.synced,
                     'rpId', p.rp_id, 'userHandle', p.user_handle,
                     'createdAt', round(extract(epoch FROM p.created_at) * 1000),
                     'lastUsedAt', round(extract(epoch FROM p.last_used_at) * 1000))
                   FROM directory.passkey p WHERE p.tenant_id = u.tenant_id AND p.user_id = u.user_id
                   ORDER BY p.created_at, p.credential_id) AS passkeys,
             EXISTS (SELECT FROM directory.totp f WHERE f.tenant_id = u.tenant_id AND f.user_id = u.user_id) AS has_totp,
             (SELECT count(*) FROM directory.recovery_code c
               WHERE c.tenant_id = u.tenant_id AND c.user_id = u.user_id)::int AS recovery_codes`;

export interface FactorRow {
  readonly passkeys: readonly OwnPasskey[];
  readonly has_totp: boolean;
  readonly recovery_codes: number;
}

/** Undefined for a person who is unknown or not active. */
export async function credentialsOf(
  database: Queryable,
  { tenantId, userId }: PersonId,
): Promise<OwnCredentials | undefined> {
  const { rows } = await database.query<
    FactorRow & {
      providers: OwnProvider[];
      name: string;
      email: string;
      email_verified: boolean;
      owner: string;
    }
  >({
    name: 'directory.credentials_of_person',
    text: `SELECT ${factorColumns},
             ARRAY(SELECT jsonb_build_object('name', name, 'displayName', coalesce(max(display_name), name),
                     'linkedAt', round(extract(epoch FROM min(linked_at)) * 1000))
                   FROM (SELECT v.name, v.display_name, NULL::timestamptz AS linked_at
                           FROM directory.provider v WHERE v.tenant_id = u.tenant_id
                         UNION ALL
                         SELECT i.provider, NULL, i.created_at FROM directory.provider_identity i
                          WHERE i.tenant_id = u.tenant_id AND i.user_id = u.user_id) AS of_person
                   GROUP BY name ORDER BY name) AS providers,
             u.name, u.email, u.owner, coalesce((u.standard_claims ->> 'emailVerified')::boolean, false) AS email_verified
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2 AND ${areActive('u', 't')}`,
    values: [tenantId, userId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const { passkeys, has_totp: hasTotp, recovery_codes: recoveryCodes, providers } = row;
  return {
    passkeys,
    hasTotp,
    recoveryCodes,
    providers,
    emailVerified: row.email_verified,
    name: row.name,
    email: row.email,
    owner: row.owner,
  };
}

/** Gives a passkey of a person another name; false if they have no such passkey, or their sign-in does not count. */
export async function renamePasskey(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { credentialId, name, ...origin }: Origin & { readonly credentialId: string; readonly name: string },
): Promise<boolean> {
  const { tenantId, userId } = person;
  return ofSignedIn(database, person, false, async (tx) => {
    const { rowCount } = await tx.query({
      name: 'directory.rename_passkey',
      text: 'UPDATE directory.passkey SET name = $4 WHERE tenant_id = $1 AND user_id = $2 AND credential_id = $3',
      values: [tenantId, userId, credentialId, name],
    });
    if (rowCount !== 1) return false;
    const event = eventOf(person, origin, 'auth.factor.renamed', { factor: 'passkey' });
    await changePerson(tx, runtime, person, { ends: 'nothing', events: [event] });
    return true;
  });
}
