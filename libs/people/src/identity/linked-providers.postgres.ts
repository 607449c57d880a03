import type { Database } from '@tessera/stores';
import {
  appendChanges,
  type PersonId,
  insertAuditRows,
  lockTenant,
  waysInOf,
} from '@tessera/directory/ground';
import { lockProvider } from '@tessera/directory/records';
import type { ChangeRuntime } from '../mail/announce.ts';
import { eventOf, lockActive, type Origin, endOwnSignIns } from '../change/own-change.postgres.ts';
import { bindIdentity, findHolder, providersOf, type Identity } from './identities.postgres.ts';

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
    const linked = await providersOf(tx, person.tenantId, person.userId);
    if (!linked.some((at) => at.provider === provider)) return 'unknown';
    if ((await waysInOf(tx, person, { provider })).length === 0) return 'last';
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
