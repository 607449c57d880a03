import { declaredFiles } from '@tessera/directory/testing';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completeImpact } from '@tessera/admin';
import { loadConfig } from '@tessera/process';
import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { ImpactSchema, type Ended } from '@tessera/proto-gen/impact';
import { TokenService } from '@tessera/proto-gen/token';
import { create, local, rootCall } from '@tessera/rpc';
import { atEndOfFile, testDatabase, testRedis, testRuntime } from '@tessera/test-kit';
import { allMigrations, compose } from '../compose.ts';
import { standaloneConfig, withSecrets } from '../config.ts';

const sharedIssuer = 'https://id.example';
export const call = () => rootCall('a-request', 60_000);

/** Something that is issued; people, applications and providers are counted round. */
export interface Issued {
  readonly person: number;
  readonly application: number;
  readonly isSession: boolean;
  readonly methods: readonly string[];
  /** Before the records changed last. */
  readonly isOld: boolean;
  readonly over: '' | 'ended' | 'idle' | 'expired';
  readonly atOtherIssuer: boolean;
}

/** Who signs in with which provider; both are counted round. */
interface Linked {
  readonly person: number;
  readonly provider: number;
}

const meets = (policy: string, methods: string) => `
  CASE ${policy} WHEN 'any' THEN true WHEN 'second-factor' THEN 'mfa' = ANY(${methods})
                 ELSE 'mfa' = ANY(${methods}) AND ${methods} && '{hwk,swk}' END`;
const familyMethods = `ARRAY(SELECT jsonb_array_elements_text(f.user_grant -> 'authentication' -> 'methods'))`;

/** Whether the records count: what an administrator would ask, in one place. */
const sessionsAlive = `
  SELECT 'session' AS kind, session_id AS id, u.username, '' AS detail
    FROM authorize.session s
    JOIN directory.user_account u USING (tenant_id, user_id) JOIN directory.tenant t USING (tenant_id)
   WHERE tenant_id = $1 AND s.ended_at IS NULL AND s.expires_at > now() AND s.last_seen_at > now() - interval '1 hour'
     AND u.status = 'active' AND t.status = 'active' AND ${meets('t.authentication_policy', 's.methods')}
     AND floor(extract(epoch FROM s.auth_time)) >= greatest(u.valid_from, t.valid_from)`;
const familiesAlive = `
  SELECT 'family', family_id::text, u.username, f.client_id
    FROM token.refresh_family f
    JOIN directory.user_account u USING (tenant_id, user_id) JOIN directory.application a USING (tenant_id, client_id)
    JOIN directory.tenant t USING (tenant_id)
   WHERE tenant_id = $1 AND f.revoked_at IS NULL AND least(f.idle_expires_at, f.absolute_expires_at) > now()
     AND u.status = 'active' AND a.status = 'active' AND t.status = 'active'
     AND f.auth_time >= greatest(u.valid_from, a.valid_from, t.valid_from)
     AND ${meets('t.authentication_policy', familyMethods)} AND ${meets('a.authentication_policy', familyMethods)}
     AND 'refresh_token' = ANY(a.grant_types) AND 'offline_access' = ANY(a.scopes)
     AND f.issuer = coalesce(nullif(t.issuer, ''), '${sharedIssuer}')
     AND (a.allowed_roles = '{}' OR EXISTS (SELECT FROM directory.user_role r
           WHERE r.tenant_id = u.tenant_id AND r.user_id = u.user_id AND r.role = ANY(a.allowed_roles)))`;
const consentsAlive = `
  SELECT 'consent', concat_ws(' ', c.user_id, c.client_id), u.username, c.client_id
    FROM authorize.consent c
    JOIN directory.user_account u USING (tenant_id, user_id) JOIN directory.application a USING (tenant_id, client_id)
    JOIN directory.tenant t USING (tenant_id)
   WHERE tenant_id = $1 AND u.status = 'active' AND a.status = 'active' AND t.status = 'active'
     AND extract(epoch FROM c.signed_in_at) >= greatest(u.valid_from, t.valid_from)
     AND extract(epoch FROM c.granted_at) >= greatest(a.valid_from, t.valid_from)`;
const recordsThere = `
  SELECT 'user', user_id, username, greatest(u.valid_from, t.valid_from)::text
    FROM directory.user_account u JOIN directory.tenant t USING (tenant_id) WHERE tenant_id = $1
   UNION ALL
  SELECT 'application', client_id, '', greatest(a.valid_from, t.valid_from)::text
    FROM directory.application a JOIN directory.tenant t USING (tenant_id) WHERE tenant_id = $1`;
/** Of each person whether they have one, and whether they are active. */
const waysInThere = `
  SELECT 'way', user_id, username, concat(u.status = 'active', ' ', u.password_hash IS NOT NULL OR EXISTS (
           SELECT FROM directory.provider_identity i JOIN directory.provider p
               ON p.tenant_id = i.tenant_id AND p.name = i.provider AND p.issuer = i.issuer
            WHERE i.tenant_id = u.tenant_id AND i.user_id = u.user_id))
    FROM directory.user_account u WHERE tenant_id = $1`;

interface Row {
  readonly kind: 'session' | 'family' | 'consent' | 'user' | 'application' | 'way';
  readonly id: string;
  readonly username: string;
  /** The client ID of a family or consent; of a record its `valid_from`; of a way in as above. */
  readonly detail: string;
}

/** The stores of a system, with its services in this process. */
export async function impactWorld() {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-impact-'));
  const environment = { TESSERA_DATA_DIR: directory, TESSERA_ISSUER: sharedIssuer };
  const config = loadConfig(standaloneConfig, await withSecrets(environment));
  const database = await testDatabase(...allMigrations);
  const runtime = testRuntime({ database, redis: await testRedis() });
  const { services, declaredState, token, ...composed } = compose(config, () => runtime, {});
  const admin = await composed.admin();
  const files = declaredFiles(declaredState);
  atEndOfFile(async () => {
    for (const service of services.toReversed()) await service.close();
    await rm(directory, { recursive: true });
  });
  const tokens = local(TokenService, token, 'operator', runtime.log);
  const run = async (name: string, text: string, values: unknown[]) =>
    database.query({ name: `test.${name}`, text, values });

  async function rowsOf(tenantId: string): Promise<Row[]> {
    const text = [sessionsAlive, familiesAlive, consentsAlive, recordsThere, waysInThere].join(' UNION ALL ');
    return (await database.query<Row>({ name: 'test.alive', text, values: [tenantId] })).rows;
  }

  /** What a document would end, as the operator is told. */
  async function told(document: Document) {
    const { tenants } = await files.diff({ ...document, impact: true }, call());
    const { impact, withoutWayIn } = tenants[0] ?? {};
    const { people, usernames, applications, clientIds, ends } = impact ?? {};
    const asked = create(ImpactSchema, ends === undefined ? {} : { ends });
    const { sessions, refreshFamilies, consents } = await completeImpact(asked, tokens, call());
    return {
      people: { total: people, items: usernames },
      applications: { total: applications, items: clientIds },
      sessions: itemsOf(sessions),
      families: itemsOf(refreshFamilies),
      consents: itemsOf(consents),
      withoutWayIn: withoutWayIn?.toSorted(),
    };
  }

  return {
    run,
    files,
    users: local(UsersService, admin, 'operator', runtime.log),
    consents: local(ConsentsService, admin, 'operator', runtime.log),
    grants: local(GrantsService, admin, 'operator', runtime.log),
    resources: local(ResourcesService, admin, 'operator', runtime.log),
    issue: async (tenantId: string, given: readonly Issued[], linked: readonly Linked[] = []) =>
      issue(run, tenantId, given, linked),

    /** What a document of a tenant would end, and what is gone once it is applied; in the same form. */
    async toldAndFound(tenantId: string, document: Document) {
      const before = await rowsOf(tenantId);
      const saying = await told(document);
      await files.apply({ ...document, allowDelete: true }, call());
      return { told: saying, found: goneOf(before, await rowsOf(tenantId)) };
    },
  };
}

export type ImpactWorld = Awaited<ReturnType<typeof impactWorld>>;

/** A declared state, and who declares it. */
interface Document {
  readonly document: string;
  readonly fileName: string;
  readonly owner?: string;
  readonly takeOver?: boolean;
}

function goneOf(before: readonly Row[], after: readonly Row[]) {
  const now = new Map(after.map((row) => [`${row.kind} ${row.id}`, row]));
  const gone = before.filter(({ kind, id, detail }) => {
    const later = now.get(`${kind} ${id}`);
    if (kind === 'way') return later?.detail === 't f' && detail.endsWith(' t');
    const isRecord = kind === 'user' || kind === 'application';
    return later === undefined || (isRecord && Number(later.detail) > Number(detail));
  });
  const listed = (kind: Row['kind'], nameOf: (row: Row) => string) => {
    const items = gone.filter((row) => row.kind === kind).map(nameOf);
    return { total: items.length, items: items.toSorted() };
  };
  const item = ({ id, username, detail }: Row) => [id, username, detail].join(' ');
  return {
    people: listed('user', ({ username }) => username),
    applications: listed('application', ({ id }) => id),
    sessions: listed('session', item),
    families: listed('family', item),
    consents: listed('consent', (row) => item({ ...row, id: '' })),
    withoutWayIn: listed('way', ({ id }) => now.get(`way ${id}`)?.username ?? '').items,
  };
}

function itemsOf(ended: Ended | undefined) {
  const items = ended?.first.map(({ id, username, clientId }) => [id, username, clientId].join(' ')) ?? [];
  return { total: ended?.total, items: items.toSorted() };
}

/** Issues what is asked for, as if records had changed between the old and the new. */
async function issue(
  run: (name: string, text: string, values: unknown[]) => Promise<unknown>,
  tenantId: string,
  all: readonly Issued[],
  linked: readonly Linked[],
): Promise<void> {
  for (const table of ['tenant', 'user_account', 'application'])
    await run(
      `date_${table}`,
      `UPDATE directory.${table} SET valid_from = extract(epoch FROM now())::bigint
              - CASE WHEN status <> 'active' THEN 20 WHEN '${table}' = 'tenant' THEN 900 ELSE 300 END WHERE tenant_id = $1`,
      [tenantId],
    );
  const numbered = (table: string, columns: string, key: string) =>
    `(SELECT ${columns}, row_number() OVER (ORDER BY ${key}) - 1 AS at, count(*) OVER () AS total
        FROM directory.${table} WHERE tenant_id = $1)`;
  const people = numbered('user_account', 'user_id', 'user_id');
  await run(
    'identities',
    `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
     SELECT $1, p.name, p.issuer, u.user_id, u.user_id FROM jsonb_to_recordset($2::jsonb) AS i(person int, provider int)
       JOIN ${people} u ON u.at = i.person % u.total
       JOIN ${numbered('provider', 'name, issuer', 'name')} p ON p.at = i.provider % p.total ON CONFLICT DO NOTHING`,
    [tenantId, JSON.stringify(linked)],
  );
  const made = JSON.stringify(
    all.map((each) => ({ ...each, id: randomUUID(), hash: randomBytes(32).toString('hex') })),
  );
  const given = `jsonb_to_recordset($2::jsonb) AS i(person int, application int, "isSession" boolean, methods text[], "isOld" boolean,
                   over text, "atOtherIssuer" boolean, id text, hash text)`;
  const time = `(now() - CASE WHEN "isOld" THEN interval '600 seconds' ELSE interval '100 seconds' END)`;
  const ends = (what: string) =>
    `now() + CASE WHEN over = '${what}' THEN interval '-1 second' ELSE interval '1 hour' END`;
  await run(
    'sessions',
    `INSERT INTO authorize.session (session_id, token_hash, tenant_id, user_id, auth_time, created_at, last_seen_at, expires_at,
                                    ended_at, end_reason, ip_address, user_agent_hash, methods)
     SELECT id, decode(hash, 'hex'), $1, user_id, ${time}, now(),
            now() - CASE WHEN over = 'idle' THEN interval '2 hours' ELSE interval '0' END, ${ends('expired')},
            CASE WHEN over = 'ended' THEN now() END, CASE WHEN over = 'ended' THEN 'logout' END, '', '', methods
       FROM ${given} JOIN ${people} p ON p.at = i.person % p.total WHERE "isSession"`,
    [tenantId, made],
  );
  const issuer = `CASE WHEN "atOtherIssuer" THEN 'https://' || $1 || '.example' ELSE '${sharedIssuer}' END`;
  const second = `extract(epoch FROM ${time})::bigint`;
  await run(
    'families',
    `INSERT INTO token.refresh_family (tenant_id, family_id, client_id, user_id, generation, scopes, resource, session_id, issuer,
                                       auth_time, idle_expires_at, absolute_expires_at, revoked_at, revoked_cause, user_grant)
     SELECT $1, id::uuid, client_id, user_id, 1, '{openid,offline_access}', '', '', ${issuer},
            ${second}, least(${ends('idle')}, ${ends('expired')}), ${ends('expired')},
            CASE WHEN over = 'ended' THEN now() END, CASE WHEN over = 'ended' THEN 'revoked' END,
            jsonb_build_object('tenantId', $1::text, 'clientId', client_id, 'userId', user_id, 'issuer', ${issuer},
              'scopes', '["openid", "offline_access"]'::jsonb,
              'authentication', jsonb_build_object('time', ${second}, 'methods', to_jsonb(methods)))
       FROM ${given} JOIN ${people} p ON p.at = i.person % p.total
       JOIN ${numbered('application', 'client_id', 'client_id')} c ON c.at = i.application % c.total
      WHERE NOT "isSession"`,
    [tenantId, made],
  );
  await run(
    'consents',
    `INSERT INTO authorize.consent (tenant_id, user_id, client_id, scopes, granted_at, signed_in_at)
     SELECT DISTINCT ON (user_id, client_id) $1, user_id, client_id, '{openid}'::text[], ${time}, ${time}
       FROM ${given} JOIN ${people} p ON p.at = i.person % p.total
       JOIN ${numbered('application', 'client_id', 'client_id')} c ON c.at = i.application % c.total
      WHERE NOT "isSession" ORDER BY user_id, client_id, id`,
    [tenantId, made],
  );
}
