import type { Queryable } from '@tessera/stores';
import { areActive, type PersonId } from '@tessera/directory/ground';

/** An identity at a provider of a tenant (OIDC Core §2: `iss` and `sub` together name a person). */
export interface Identity {
  readonly tenantId: string;
  /** Name of the provider. */
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
}

/** A `sub` has at most 255 ASCII characters (OIDC Core §2). */
const subjectShape = /^[\x20-\x7e]{1,255}$/;

/** Whether something is a `sub` that a person can be known by. */
export function isSubject(subject: string): boolean {
  return subjectShape.test(subject);
}

/** Whose identity it is; undefined if nobody has signed in with it. */
export async function findHolder(database: Queryable, identity: Identity): Promise<string | undefined> {
  const { rows } = await database.query<{ user_id: string }>({
    name: 'directory.find_identity_holder',
    text: `SELECT user_id FROM directory.provider_identity
            WHERE tenant_id = $1 AND provider = $2 AND issuer = $3 AND subject = $4`,
    values: valuesOf(identity),
  });
  return rows[0]?.user_id;
}

/**
 * The time of a sign-in with an identity, as `confirmSignIn` dates one with a password; undefined if its person, tenant
 * or provider is gone or not active. The share locks wait for a change that is under way, such as the end of the link,
 * and a change that comes later is dated after it. A change of providers locks them before the people whose sign-ins it
 * ends, and so does this.
 */
export async function confirmIdentity(
  database: Queryable,
  identity: Identity,
  userId: string,
): Promise<number | undefined> {
  const { rows } = await database.query<{ signed_in_at: number }>({
    name: 'directory.confirm_identity',
    text: `SELECT greatest(u.valid_from * 1000, t.valid_from * 1000,
                           floor(extract(epoch FROM clock_timestamp()) * 1000))::float8 AS signed_in_at
             FROM directory.provider_identity i
             JOIN directory.provider p
               ON p.tenant_id = i.tenant_id AND p.name = i.provider AND p.issuer = i.issuer
             JOIN directory.user_account u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
             JOIN directory.tenant t ON t.tenant_id = i.tenant_id
            WHERE i.tenant_id = $1 AND i.provider = $2 AND i.issuer = $3 AND i.subject = $4 AND i.user_id = $5
              AND ${areActive('u', 't')}
              FOR SHARE OF p, u, i`,
    values: [...valuesOf(identity), userId],
  });
  return rows[0]?.signed_in_at;
}

/** Whether a person has an identity at the provider. */
export async function hasIdentity(
  tx: Queryable,
  { tenantId, provider, issuer }: Identity,
  userId: string,
): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.has_identity',
    text: `SELECT FROM directory.provider_identity
            WHERE tenant_id = $1 AND user_id = $2 AND provider = $3 AND issuer = $4`,
    values: [tenantId, userId, provider, issuer],
  });
  return rows.length > 0;
}

/** The providers with which a person signs in: another issuer under the same name is another one. */
export async function providersOf(
  tx: Queryable,
  tenantId: string,
  userId: string,
): Promise<Pick<Identity, 'provider' | 'issuer'>[]> {
  const { rows } = await tx.query<{ provider: string; issuer: string }>({
    name: 'directory.providers_of_person',
    text: 'SELECT provider, issuer FROM directory.provider_identity WHERE tenant_id = $1 AND user_id = $2',
    values: [tenantId, userId],
  });
  return rows;
}

/** Binds an identity to a person. Fails with a unique violation if either has another one meanwhile. */
export async function putIdentity(tx: Queryable, identity: Identity, userId: string): Promise<void> {
  await tx.query({
    name: 'directory.put_identity',
    text: `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
           VALUES ($1, $2, $3, $4, $5)`,
    values: [...valuesOf(identity), userId],
  });
}

/** As `putIdentity`, but false if either has another one, or this one, already. */
export async function bindIdentity(tx: Queryable, identity: Identity, userId: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.bind_identity',
    text: `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
           VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    values: [...valuesOf(identity), userId],
  });
  return rowCount === 1;
}

/** Removes the identities of people who are gone for good. */
export async function forgetIdentities(database: Queryable, people: readonly PersonId[]): Promise<void> {
  if (people.length === 0) return;
  await database.query({
    name: 'directory.forget_identities',
    text: `DELETE FROM directory.provider_identity WHERE (tenant_id, user_id) IN (
             SELECT p.tenant_id, p.user_id FROM unnest($1::text[], $2::text[]) AS p(tenant_id, user_id))`,
    values: [people.map(({ tenantId }) => tenantId), people.map(({ userId }) => userId)],
  });
}

function valuesOf({ tenantId, provider, issuer, subject }: Identity): string[] {
  return [tenantId, provider, issuer, subject];
}
