import { completeImpact } from '@tessera/admin';
import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { loadConfig } from '@tessera/process';
import { ImpactSchema, type Ended } from '@tessera/proto-gen/impact';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { TokenService } from '@tessera/proto-gen/token';
import { create, local, rootCall } from '@tessera/rpc';
import { atEndOfFile, testDatabase, testRedis, testRuntime } from '@tessera/test-kit';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { allMigrations, compose } from './compose.ts';
import { standaloneConfig, withSecrets } from './config.ts';

/** Pairs of states that are tried; `TESSERA_TEST_STATES=1000` tries more. */
const pairs = Number(process.env['TESSERA_TEST_STATES'] ?? 40);

const sharedIssuer = 'https://id.example';
const call = () => rootCall('a-request', 60_000);

const hashOf = (salt: string) =>
  `$argon2id$v=19$m=19456,t=2,p=1$${salt}ucOpNWRxd1nT4aj381VM$K/16Bwhd94IYHs14QwtJQFSkR2vCFIfosQqsn7wqCp4`;
const statuses = <T extends string>(...names: readonly T[]) => fc.constantFrom(undefined, ...names);

const usernames = ['ada', 'Ada', 'bob', 'cleo', 'dan', 'Eve'] as const;
const clients = ['web', 'tv', 'desk', 'box'] as const;
const person = fc.record({
  username: fc.constantFrom(...usernames),
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'disabled', 'locked'),
  passwordHash: fc.constantFrom(undefined, hashOf('aa'), hashOf('bb')),
  roles: fc.subarray(['clerk', 'manager']),
});
const application = fc.record({
  clientId: fc.constantFrom(...clients),
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'disabled'),
  grantTypes: fc.constantFrom(
    ['device_code', 'refresh_token'],
    ['device_code', 'refresh_token'],
    ['device_code'],
  ),
  scopes: fc.constantFrom(['openid', 'offline_access'], ['openid', 'offline_access'], ['openid']),
  allowedRoles: fc.constantFrom(undefined, undefined, ['clerk'], ['manager']),
});
const state = fc.record({
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'active', 'disabled'),
  hasIssuer: fc.constantFrom(false, false, false, true),
  users: fc.uniqueArray(person, {
    selector: ({ username }) => username.toLowerCase(),
    minLength: 1,
    maxLength: 5,
  }),
  applications: fc.uniqueArray(application, {
    selector: ({ clientId }) => clientId,
    minLength: 1,
    maxLength: 4,
  }),
});
type State = typeof state extends fc.Arbitrary<infer T> ? T : never;

/** What was issued in the first state; people and applications that it does not have get nothing. */
const issued = fc.record({
  person: fc.nat(4),
  application: fc.nat(3),
  isSession: fc.boolean(),
  /** Before the records of the first state changed last. */
  isOld: fc.constantFrom(false, false, true),
  over: fc.constantFrom('', '', '', 'ended', 'idle', 'expired'),
  atOtherIssuer: fc.constantFrom(false, false, true),
});
type Issued = typeof issued extends fc.Arbitrary<infer T> ? T : never;

/** Whether the records count: what an administrator would ask, in one place. */
const sessionsAlive = `
  SELECT 'session' AS kind, session_id AS id, u.username, '' AS client_id
    FROM authorize.session s
    JOIN directory.user_account u USING (tenant_id, user_id) JOIN directory.tenant t USING (tenant_id)
   WHERE tenant_id = $1 AND s.ended_at IS NULL AND s.expires_at > now() AND s.last_seen_at > now() - interval '1 hour'
     AND u.status = 'active' AND t.status = 'active'
     AND floor(extract(epoch FROM s.auth_time)) >= greatest(u.valid_from, t.valid_from)`;
const familiesAlive = `
  SELECT 'family', family_id::text, u.username, f.client_id
    FROM token.refresh_family f
    JOIN directory.user_account u USING (tenant_id, user_id) JOIN directory.application a USING (tenant_id, client_id)
    JOIN directory.tenant t USING (tenant_id)
   WHERE tenant_id = $1 AND f.revoked_at IS NULL AND least(f.idle_expires_at, f.absolute_expires_at) > now()
     AND u.status = 'active' AND a.status = 'active' AND t.status = 'active'
     AND f.auth_time >= greatest(u.valid_from, a.valid_from, t.valid_from)
     AND 'refresh_token' = ANY(a.grant_types) AND 'offline_access' = ANY(a.scopes)
     AND f.issuer = coalesce(nullif(t.issuer, ''), '${sharedIssuer}')
     AND (a.allowed_roles = '{}' OR EXISTS (SELECT FROM directory.user_role r
           WHERE r.tenant_id = u.tenant_id AND r.user_id = u.user_id AND r.role = ANY(a.allowed_roles)))`;
const recordsThere = `
  SELECT 'user', user_id, username, greatest(u.valid_from, t.valid_from)::text
    FROM directory.user_account u JOIN directory.tenant t USING (tenant_id) WHERE tenant_id = $1
   UNION ALL
  SELECT 'application', client_id, '', greatest(a.valid_from, t.valid_from)::text
    FROM directory.application a JOIN directory.tenant t USING (tenant_id) WHERE tenant_id = $1`;

interface Row {
  readonly kind: 'session' | 'family' | 'user' | 'application';
  readonly id: string;
  readonly username: string;
  /** Of a record: its `valid_from`. */
  readonly client_id: string;
}

async function composed() {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-impact-'));
  const environment = { TESSERA_DATA_DIR: directory, TESSERA_ISSUER: sharedIssuer };
  const config = loadConfig(standaloneConfig, await withSecrets(environment));
  const database = await testDatabase(...allMigrations);
  const runtime = testRuntime({ database, redis: await testRedis() });
  const { services, operator, token, admin } = compose(config, () => runtime, {});
  atEndOfFile(async () => {
    for (const service of services.toReversed()) await service.close();
    await rm(directory, { recursive: true });
  });
  return {
    database,
    operator,
    tokens: local(TokenService, token, 'operator', runtime.log),
    users: local(UsersService, admin, 'operator', runtime.log),
  };
}

let on: Awaited<ReturnType<typeof composed>>;
let count = 0;
beforeAll(async () => {
  on = await composed();
});

const rowsOf = async (tenantId: string): Promise<Row[]> => {
  const text = `${sessionsAlive} UNION ALL ${familiesAlive} UNION ALL ${recordsThere}`;
  return (await on.database.query<Row>({ name: 'test.alive', text, values: [tenantId] })).rows;
};

/** Issues what is asked for, as if records had changed between the old and the new. */
async function issue(tenantId: string, all: readonly Issued[]): Promise<void> {
  const run = async (name: string, text: string, values: unknown[]) =>
    on.database.query({ name: `test.${name}`, text, values });
  for (const table of ['tenant', 'user_account', 'application'])
    await run(
      `date_${table}`,
      `UPDATE directory.${table} SET valid_from = extract(epoch FROM now())::bigint
              - CASE WHEN status <> 'active' THEN 20 WHEN '${table}' = 'tenant' THEN 900 ELSE 300 END WHERE tenant_id = $1`,
      [tenantId],
    );
  const made = JSON.stringify(
    all.map((each) => ({ ...each, id: randomUUID(), hash: randomBytes(32).toString('hex') })),
  );
  const people = `SELECT user_id, row_number() OVER (ORDER BY user_id) - 1 AS at, count(*) OVER () AS total FROM directory.user_account WHERE tenant_id = $1`;
  const given = `jsonb_to_recordset($2::jsonb) AS i(person int, application int, "isSession" boolean, "isOld" boolean, over text,
                   "atOtherIssuer" boolean, id text, hash text)`;
  const age = `(CASE WHEN "isOld" THEN interval '600 seconds' ELSE interval '100 seconds' END)`;
  const ends = (what: string) =>
    `now() + CASE WHEN over = '${what}' THEN interval '-1 second' ELSE interval '1 hour' END`;
  await run(
    'sessions',
    `INSERT INTO authorize.session (session_id, token_hash, tenant_id, user_id, auth_time, created_at, last_seen_at, expires_at,
                                    ended_at, end_reason, ip_address, user_agent_hash)
     SELECT id, decode(hash, 'hex'), $1, user_id, now() - ${age}, now(),
            now() - CASE WHEN over = 'idle' THEN interval '2 hours' ELSE interval '0' END, ${ends('expired')},
            CASE WHEN over = 'ended' THEN now() END, CASE WHEN over = 'ended' THEN 'logout' END, '', ''
       FROM ${given} JOIN (${people}) p ON p.at = i.person % p.total WHERE "isSession"`,
    [tenantId, made],
  );
  await run(
    'families',
    `INSERT INTO token.refresh_family (tenant_id, family_id, client_id, user_id, generation, scopes, resource, session_id, issuer,
                                       auth_time, idle_expires_at, absolute_expires_at, revoked_at, revoked_cause)
     SELECT $1, id::uuid, client_id, user_id, 1, '{openid,offline_access}', '', '',
            CASE WHEN "atOtherIssuer" THEN 'https://' || $1 || '.example' ELSE '${sharedIssuer}' END,
            extract(epoch FROM now() - ${age})::bigint, least(${ends('idle')}, ${ends('expired')}), ${ends('expired')},
            CASE WHEN over = 'ended' THEN now() END, CASE WHEN over = 'ended' THEN 'revoked' END
       FROM ${given} JOIN (${people}) p ON p.at = i.person % p.total
       JOIN (SELECT client_id, row_number() OVER (ORDER BY client_id) - 1 AS at, count(*) OVER () AS total FROM directory.application WHERE tenant_id = $1) c
         ON c.at = i.application % c.total
      WHERE NOT "isSession"`,
    [tenantId, made],
  );
}

describe('what the impact of a change says', () => {
  it('is what ends in the stores when it is applied', { timeout: 1_200_000 }, async () => {
    let ended = 0;
    const check = fc.asyncProperty(
      state,
      state,
      fc.array(issued, { minLength: 8, maxLength: 30 }),
      async (first, second, given) => {
        const tenantId = `t${(count += 1)}`;
        const documented = (declared: State) => ({
          document: documentOf(tenantId, declared),
          fileName: 'state.yaml',
        });
        await on.operator.apply(documented(first), call());
        await issue(tenantId, given);
        const before = await rowsOf(tenantId);

        const { tenants } = await on.operator.diff({ ...documented(second), impact: true }, call());
        const impact = tenants[0]?.impact;
        const { people, usernames: names, applications, clientIds, ends } = impact ?? {};
        const asked = create(ImpactSchema, ends === undefined ? {} : { ends });
        const { sessions, refreshFamilies } = await completeImpact(asked, on.tokens, call());

        await on.operator.apply({ ...documented(second), allowDelete: true }, call());
        const after = new Map((await rowsOf(tenantId)).map((row) => [`${row.kind} ${row.id}`, row]));
        const gone = before.filter(({ kind, id, client_id: validFrom }) => {
          const now = after.get(`${kind} ${id}`);
          const isRecord = kind === 'user' || kind === 'application';
          return now === undefined || (isRecord && Number(now.client_id) > Number(validFrom));
        });
        const of = (kind: Row['kind']) => gone.filter((row) => row.kind === kind);
        ended += of('session').length + of('family').length;
        expect({ people, names, applications, clientIds }).toEqual({
          people: of('user').length,
          names: of('user')
            .map(({ username }) => username)
            .toSorted(),
          applications: of('application').length,
          clientIds: of('application')
            .map(({ id }) => id)
            .toSorted(),
        });
        expect(sorted(sessions)).toEqual(listed(of('session')));
        expect(sorted(refreshFamilies)).toEqual(listed(of('family')));
      },
    );
    await fc.assert(check, { numRuns: pairs });
    // Too few would show nothing.
    expect(ended).toBeGreaterThan(0);
  });

  it('is in the answer of the administration API to a change that is only validated', async () => {
    const documented = documentOf('api', {
      name: 'One',
      status: 'active',
      hasIssuer: false,
      users: [{ username: 'ada', name: 'One', status: 'active', passwordHash: undefined, roles: [] }],
      applications: [],
    });
    await on.operator.apply({ document: documented, fileName: 'state.yaml' }, call());
    const session: Issued = {
      person: 0,
      application: 0,
      isSession: true,
      isOld: false,
      over: '',
      atOtherIssuer: false,
    };
    await issue('api', [session, session]);
    const { users } = await on.users.list({ tenantId: 'api' }, call());
    const asked = { tenantId: 'api', validateOnly: true, impact: true, takeOver: true };
    const user = { userId: users[0]?.userId ?? '', password: 'correct horse battery staple' };
    const { impact } = await on.users.update({ ...asked, user }, call());
    expect(impact).toMatchObject({
      people: 1,
      sessions: { total: 2, first: [{ username: 'ada' }, { username: 'ada' }] },
      refreshFamilies: { total: 0 },
    });
    expect(impact).not.toHaveProperty('ends');
  });
});

function sorted(ended: Ended | undefined) {
  const items = ended?.first.map(({ id, username, clientId }) => [id, username, clientId].join(' ')) ?? [];
  return { total: ended?.total, items: items.toSorted() };
}

function listed(rows: readonly Row[]) {
  const items = rows.map(({ id, username, client_id: clientId }) => [id, username, clientId].join(' '));
  return { total: rows.length, items: items.toSorted() };
}

/** YAML includes JSON. */
function documentOf(id: string, { applications, hasIssuer, ...declared }: State): string {
  const registered = applications.map(({ clientId, ...rest }) => ({
    clientId: `${id}-${clientId}`,
    type: 'public',
    ...rest,
  }));
  const issuer = hasIssuer ? `https://${id}.example` : undefined;
  return JSON.stringify({
    tenants: [{ id, issuer, roles: ['clerk', 'manager'], applications: registered, ...declared }],
  });
}
