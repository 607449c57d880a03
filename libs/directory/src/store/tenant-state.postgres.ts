import { adminRoles } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import { mostNames, type Everybody } from '../plans/impact.ts';
import { byList, listedKinds, type ListedKind } from '../record-kinds.ts';
import { readRecords } from './read-records.postgres.ts';
import { waysIn } from '../ground/ways-in.postgres.ts';
import { identityText } from '../factors/declared-identity.ts';
import type { AdministratorIdentity, KnownWay, Lists, PresentState } from '../plans/tenant-state.ts';
import { findTenant } from '../tenants/read.postgres.ts';
import { readProvenEmails } from '../users/email-proof.postgres.ts';
import type { UserRecord } from '../users/fields.ts';
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
    known: await readKnown(tx, tenantId, names && (records.get('user') as readonly UserRecord[])),
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

/** With what people of a tenant sign in, but passwords; passkeys only of those who may lose a way in by a plan. */
async function readKnown(
  tx: Queryable,
  tenantId: string,
  users: readonly UserRecord[] | undefined,
): Promise<KnownWay[]> {
  const { rows } = await tx.query<KnownWay & { readonly issuer: string }>({
    name: 'directory.known_ways',
    text: `WITH identity AS (
             SELECT i.user_id, i.provider, i.issuer, i.subject FROM directory.provider_identity i
               JOIN directory.provider p ON p.tenant_id = i.tenant_id AND p.name = i.provider AND p.issuer = i.issuer
              WHERE i.tenant_id = $1 AND ($2::text[] IS NULL OR i.user_id = ANY($2)))
           SELECT w.user_id AS "userId", w.provider, w.issuer, w.way, 'mail_code' = ANY(${waysIn('u')}) AS "getsMailCode"
             FROM directory.user_account u
             JOIN (SELECT user_id, provider, issuer, subject AS way FROM identity UNION ALL
                   SELECT k.user_id, '', '', k.credential_id FROM directory.passkey k
                     JOIN directory.user_account o ON o.tenant_id = k.tenant_id AND o.user_id = k.user_id
                    WHERE k.tenant_id = $1 AND ($2::text[] IS NULL OR k.user_id = ANY($2))
                      AND (o.declared_passkeys IS NOT NULL OR k.user_id IN (SELECT user_id FROM identity))) w
               ON w.user_id = u.user_id
            WHERE u.tenant_id = $1`,
    values: [tenantId, users?.map(({ userId }) => userId) ?? null],
  });
  return rows.map(({ issuer, ...row }) =>
    row.provider === '' ? row : { ...row, way: identityText({ ...row, subject: row.way }, issuer) },
  );
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
