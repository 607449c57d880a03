import { adminRoles } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import { mostNames, type Everybody } from '../plans/impact.ts';
import { byList, listedKinds, type ListedKind } from '../record-kinds.ts';
import { readRecords } from './read-records.postgres.ts';
import { waysIn } from '../ground/ways-in.postgres.ts';
import type { AdministratorIdentity, KnownIdentity, Lists, PresentState } from '../plans/tenant-state.ts';
import { findTenant } from '../tenants/read.postgres.ts';
import { readProvenEmails } from '../users/email-proof.postgres.ts';
import { readUsersAmong } from '../users/read.postgres.ts';
import { findSubjects, hasGivenUserIds } from '../users/subjects.postgres.ts';

/**
 * Everything of a tenant, as it stands inside the transaction; undefined when there is no such tenant.
 * @param names @param subjects as of `AdminStore.tenantState`
 */
export async function readTenantState(
  tx: Queryable,
  tenantId: string,
  names?: readonly string[],
  subjects: readonly string[] = [],
): Promise<PresentState | undefined> {
  const tenant = await findTenant(tx, tenantId);
  if (tenant === undefined) return undefined;
  const identities = await administratorIdentities(tx, tenantId);
  const records = new Map<ListedKind, readonly object[]>();
  for (const kind of listedKinds)
    records.set(
      kind,
      kind === 'user' && names !== undefined
        ? await readUsersAmong(tx, tenantId, { names, userIds: subjects })
        : await readRecords(tx, kind, tenantId),
    );
  return {
    tenant,
    ...(byList((kind) => records.get(kind)) as unknown as Lists),
    ...(identities.length > 0 && { identities }),
    known: names === undefined ? await readKnown(tx, tenantId) : [],
    proven: names === undefined ? await readProvenEmails(tx, tenantId) : [],
    subjects: {
      ...(await findSubjects(tx, tenantId, subjects)),
      areGiven: tenant.issuer !== '' && (await hasGivenUserIds(tx, tenantId)),
    },
  };
}

async function administratorIdentities(tx: Queryable, tenantId: string): Promise<AdministratorIdentity[]> {
  const { rows } = await tx.query<AdministratorIdentity>({
    name: 'directory.administrator_identities',
    text: `SELECT DISTINCT i.user_id AS "userId", i.provider, i.issuer
             FROM directory.user_role r
             JOIN directory.provider_identity i ON i.tenant_id = r.tenant_id AND i.user_id = r.user_id
            WHERE r.tenant_id = $1 AND r.role = ANY($2::text[])`,
    values: [tenantId, [...adminRoles.keys()]],
  });
  return rows;
}

/** What people sign in with at the providers that a tenant has. */
async function readKnown(tx: Queryable, tenantId: string): Promise<KnownIdentity[]> {
  const { rows } = await tx.query<KnownIdentity>({
    name: 'directory.known_identities',
    text: `SELECT i.user_id AS "userId", i.provider, array_remove(${waysIn('u')}, 'provider') <> '{}' AS "hasOtherWay"
             FROM directory.provider_identity i
             JOIN directory.provider p ON p.tenant_id = i.tenant_id AND p.name = i.provider AND p.issuer = i.issuer
             JOIN directory.user_account u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
            WHERE i.tenant_id = $1`,
    values: [tenantId],
  });
  return rows;
}

/** Everybody of a tenant, and its applications: how many, and the first hundred. */
export async function everybodyOf(tx: Queryable, tenantId: string): Promise<Everybody> {
  const named = (table: string, name: string) => `(
    SELECT coalesce(array_agg(name), '{}') FROM (
      SELECT ${name} AS name FROM directory.${table} WHERE tenant_id = $1 ORDER BY ${name} COLLATE "C" LIMIT ${mostNames}) AS first)`;
  const { rows } = await tx.query<Everybody>({
    name: 'directory.everybody_of',
    text: `SELECT (SELECT count(*)::int FROM directory.user_account WHERE tenant_id = $1) AS people,
                  ${named('user_account', 'username')} AS usernames,
                  (SELECT count(*)::int FROM directory.application WHERE tenant_id = $1) AS applications,
                  ${named('application', 'client_id')} AS "clientIds"`,
    values: [tenantId],
  });
  const [found] = rows;
  if (found === undefined) throw new Error('The count of a tenant has no row.');
  return found;
}
