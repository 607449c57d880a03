import type { Database, Queryable } from '@tessera/stores';
import { appendChanges, type PersonId, insertAuditRows, lockTenant } from '@tessera/directory/ground';
import { lockProvider } from '@tessera/directory/records';
import type { ChangeRuntime } from '../mail/announce.ts';
import { eventOf, lockActive, type Origin, endOwnSignIns } from '../change/own-change.postgres.ts';
import { bindIdentity, findHolder, type Identity } from './identities.postgres.ts';

/**
 * Why a person is not linked. `taken`: the identity is somebody else's, or the person has another one there. `provider`: the tenant has no
 * such provider with that issuer. `inactive`: the person may not sign in.
 */
export type LinkRefusal = 'taken' | 'provider' | 'inactive';

/**
 * Binds an identity to a person who has proved that it is theirs while they are signed in. Undefined if it is theirs now; one that was theirs
 * before stays so, without a further audit row.
 */
export async function linkProvider(
  database: Database,
  runtime: ChangeRuntime,
  person: PersonId,
  { identity, ...origin }: Origin & { readonly identity: Identity },
): Promise<LinkRefusal | undefined> {
  const { tenantId, provider, issuer } = identity;
  return database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    if (!(await lockActive(tx, person))) return 'inactive';
    if ((await lockProvider(tx, tenantId, provider))?.issuer !== issuer) return 'provider';
    if (!(await bindIdentity(tx, identity, person.userId)))
      return (await findHolder(tx, identity)) === person.userId ? undefined : 'taken';
    const details = { provider, account: 'own' };
    await insertAuditRows(tx, [eventOf(person, origin, 'auth.provider.linked', details)], runtime);
    await runtime.announce(tx, person, 'provider-linked');
    await appendChanges(tx, [{ kind: 'user', tenantId, id: person.userId }]);
    return undefined;
  });
}

/**
 * Removes what a person signs in with at a provider, and ends what was issued to them before: who has that account may be signed in with it.
 * `unknown` if they have nothing there or are not active, `last` for the only way in which they can sign in. Returns from when sign-ins
 * count, in seconds since the Unix epoch.
 */
export async function unlinkProvider(
  database: Database,
  runtime: ChangeRuntime,
  person: PersonId,
  { provider, ...origin }: Origin & { readonly provider: string },
): Promise<'unknown' | 'last' | { readonly validFrom: number }> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, person.tenantId, 'together');
    if (!(await lockActive(tx, person))) return 'unknown';
    const { hasIt, hasOther } = await waysIn(tx, person, provider);
    if (!hasIt) return 'unknown';
    if (!hasOther) return 'last';
    await tx.query({
      name: 'directory.remove_identities',
      text: 'DELETE FROM directory.provider_identity WHERE tenant_id = $1 AND user_id = $2 AND provider = $3',
      values: [person.tenantId, person.userId, provider],
    });
    await insertAuditRows(tx, [eventOf(person, origin, 'auth.provider.unlinked', { provider })], runtime);
    await runtime.announce(tx, person, 'provider-unlinked');
    return { validFrom: await endOwnSignIns(tx, person) };
  });
}

/** Whether a person has something at a provider, and can sign in without it: with a password, a passkey, or another provider. */
async function waysIn(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  provider: string,
): Promise<{ readonly hasIt: boolean; readonly hasOther: boolean }> {
  const { rows } = await tx.query<{ has_it: boolean; has_other: boolean }>({
    name: 'directory.ways_in_without_provider',
    text: `SELECT EXISTS (SELECT FROM directory.provider_identity i
                           WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.provider = $3) AS has_it,
                  (u.password_hash IS NOT NULL
                   OR EXISTS (SELECT FROM directory.passkey p WHERE p.tenant_id = $1 AND p.user_id = $2)
                   OR EXISTS (SELECT FROM directory.provider_identity i JOIN directory.provider v
                                ON v.tenant_id = i.tenant_id AND v.name = i.provider AND v.issuer = i.issuer
                               WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.provider <> $3)) AS has_other
             FROM directory.user_account u WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId, provider],
  });
  return { hasIt: rows[0]?.has_it === true, hasOther: rows[0]?.has_other === true };
}
