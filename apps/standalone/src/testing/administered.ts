import { declaredFiles } from '@tessera/directory/testing';
import { uuid } from '@tessera/kit';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveAdministration } from '@tessera/admin';
import { adminScopes } from '@tessera/oauth';
import { loadConfig } from '@tessera/process';
import { UsersService } from '@tessera/proto-gen/admin-users';
import {
  BackchannelAuthenticationService,
  Decision,
  DeviceAuthorizationService,
} from '@tessera/proto-gen/device';
import { ClientAuthenticationMethod, TokenService, type ExchangeResponse } from '@tessera/proto-gen/token';
import { create, local, rootCall, type BuiltService, type ConnectServer } from '@tessera/rpc';
import { AuthenticationSchema } from '@tessera/proto-gen/oauth';
import { atEndOfFile, eventually, fakeClock, silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { allMigrations, compose } from '../compose.ts';
import { standaloneConfig, withSecrets } from '../config.ts';

export const call = () => rootCall('a-request', 60_000);

/** At the shared issuer are the operator tenant `ops`, `acme` and `initech`; `globex` has an issuer of its own. */
const issuers: Readonly<Record<string, string>> = { globex: 'https://login.globex.example' };
const sharedIssuer = 'https://id.example';
const secret = 'a secret of every client in this test';
const everyScope = [...adminScopes.keys()];

const robot = (clientId: string, scopes: readonly string[], owners: readonly string[] = ['*']) =>
  `      - { clientId: ${clientId}, name: Robot, type: confidential, secrets: [{ value: ${secret} }], grantTypes: [client_credentials], scopes: [${scopes.join(', ')}], owners: ${JSON.stringify(owners)} }`;
const console = (clientId: string) =>
  `      - { clientId: ${clientId}, name: Console, type: public, grantTypes: [device_code, refresh_token], scopes: [openid, offline_access, ${everyScope.join(', ')}] }`;

const desk = (clientId: string) =>
  `      - { clientId: ${clientId}, name: Desk, type: confidential, secrets: [{ value: ${secret} }], grantTypes: [ciba], scopes: [openid], ciba: { approval: page } }`;

const state = `tenants:
  - id: ops
    name: Operators
    resources: [{ audience: https://orders.example, name: Orders, scopes: [orders.read] }]
    users:
      - { username: root, roles: [tessera.administrator] }
      - { username: second, roles: [tessera.administrator] }
      - { username: auditor, roles: [tessera.auditor] }
      - { username: helper, roles: [tessera.helpdesk] }
      - { username: nobody }
    applications:
${robot('ops-robot', [...everyScope, 'orders.read'])}
${console('ops-console')}
      - { clientId: ops-vault, name: Vault, type: public, grantTypes: [device_code], scopes: [openid], claims: { clearance: { attribute: clearance, targets: [idToken] } } }
  - id: acme
    name: Acme
    resources: [{ audience: 'https://ledger.acme.example', name: Ledger, signingAlgorithm: ES256 }]
    users: [{ username: ada }]
    applications:
${robot('acme-robot', everyScope)}
${desk('acme-desk')}
  - id: globex
    name: Globex
    issuer: ${issuers['globex']}
    users: [{ username: gus, roles: [tessera.administrator] }]
    applications:
${robot('globex-robot', everyScope)}
${robot('globex-team-orders', everyScope, ['orders', 'orders/*'])}
${robot('globex-team-billing', everyScope, ['billing', 'billing/*'])}
${console('globex-console')}
  - id: initech
    name: Initech
    users: [{ username: ivy, roles: [tessera.administrator] }, { username: ira }]
    applications:
${robot('initech-robot', everyScope)}
${desk('initech-desk')}
${console('initech-console')}
`;

type Pages = Parameters<typeof serveAdministration>[2]['pages'];

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Compact with real Postgres and a served administration API, until the test file ends. */
export async function administered() {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-administered-'));
  const environment = {
    TESSERA_DATA_DIR: directory,
    TESSERA_ISSUER: sharedIssuer,
    TESSERA_OPERATOR_TENANT: 'ops',
    TESSERA_ADMIN_PORT: '0',
    TESSERA_KEYS_RELOAD_INTERVAL: '200ms',
  };
  const config = loadConfig(standaloneConfig, await withSecrets(environment));
  const database = await testDatabase(...allMigrations);
  // What was issued before now has expired.
  const clock = fakeClock(Date.now() - 20 * 60_000);
  const runtime = testRuntime({ database, clock });
  const composed = compose(config, () => runtime, {});
  const { services, declaredState, token, directory: directoryService } = composed;
  const admin = await composed.admin();
  const files = declaredFiles(declaredState);
  atEndOfFile(async () => {
    for (const service of services.toReversed()) await service.close();
    await rm(directory, { recursive: true });
  });
  await files.apply({ document: state, fileName: 'state.yaml', allowAdministration: true }, call());
  for (const service of services)
    await eventually(`${service.name} is ready`, () => service.ready().then(() => true));

  const tokens = local(TokenService, token, 'gateway', runtime.log);
  const device = services.find(({ name }) => name === 'device');
  if (device === undefined) throw new Error('there is no device service');
  const devices = local(DeviceAuthorizationService, device, 'gateway', runtime.log);
  const callerOf = (tenantId: string) => {
    const issuer = issuers[tenantId];
    return {
      ipAddress: '192.0.2.7',
      issuer: issuer ?? sharedIssuer,
      tenantId: issuer === undefined ? '' : tenantId,
    };
  };

  const serve = async (
    built: Pick<BuiltService, 'name' | 'routes' | 'ready' | 'close'>,
    pages?: Pages,
  ): Promise<ConnectServer> => {
    const server = await serveAdministration(built, config, {
      besides: [directoryService],
      pages,
      log: silentLog(),
      drainMs: 100,
    });
    if (server === undefined) throw new Error('nothing is served');
    atEndOfFile(() => server.drain());
    return server;
  };
  const urlOf = ({ port }: ConnectServer) => `http://127.0.0.1:${port}`;
  const url = urlOf(await serve(admin));

  /** The tokens of a person at `<tenant>-console`, by the device flow. */
  async function tokensOfPerson(
    tenantId: string,
    userId: string,
    scopes: readonly string[] = everyScope,
    clientId = `${tenantId}-console`,
  ): Promise<ExchangeResponse> {
    const caller = callerOf(tenantId);
    const credentials = { clientId };
    const started = await devices.startDeviceAuthorization(
      { caller, credentials, scope: scopes.join(' ') },
      call(),
    );
    const { userCode, deviceCode } = started;
    const session = { sessionId: 'a-session', ipAddress: '192.0.2.7', tenantId, userId };
    const { request } = await devices.getDeviceAuthorization({ userCode, ...session }, call());
    const time = BigInt(Math.floor(Date.now() / 1000) + 1);
    const approver = { ...session, authentication: create(AuthenticationSchema, { time: Number(time) }) };
    await devices.decideDeviceAuthorization(
      { requestId: request?.requestId ?? '', decision: Decision.APPROVE, approver },
      call(),
    );
    const exchange = {
      caller,
      credentials: { clientId, method: ClientAuthenticationMethod.NONE },
      grantType: 'device_code',
      deviceCode,
    };
    return tokens.exchange(exchange, call());
  }

  const userId = async (tenantId: string, search: string): Promise<string> => {
    const people = local(UsersService, directoryService, 'operator', runtime.log);
    return (await people.list({ tenantId, search }, call())).users[0]?.userId ?? '';
  };

  return {
    userId,
    admin,
    services,
    files,
    database,
    directory: directoryService,
    clock,
    url,
    serve: async (built: BuiltService, pages?: Pages) => urlOf(await serve(built, pages)),

    /** An access token of the client `<tenant>-robot`, which writes records of everybody, or of another one. */
    async tokenOfClient(
      tenantId: string,
      scopes: readonly string[] = everyScope,
      { grantType = 'client_credentials', clientId = `${tenantId}-robot` } = {},
    ): Promise<string> {
      const credentials = {
        clientId,
        clientSecret: secret,
        method: ClientAuthenticationMethod.CLIENT_SECRET_BASIC,
      };
      const request = { caller: callerOf(tenantId), credentials, grantType, scope: scopes.join(' ') };
      return (await tokens.exchange(request, call())).accessToken;
    },

    tokensOfPerson,

    /** An access token of a person at `<tenant>-console`, or another application. */
    tokenOfPerson: async (...of: Parameters<typeof tokensOfPerson>) =>
      (await tokensOfPerson(...of)).accessToken,

    /** A session of a person, in a browser that calls itself so; resolves with its id. */
    async session({ tenantId = 'acme', userId = 'usr_somebody', userAgent = '' } = {}): Promise<string> {
      const sessionId = uuid();
      await database.query({
        name: 'test.session',
        text: `INSERT INTO authorize.session (session_id, token_hash, tenant_id, user_id, auth_time, created_at, last_seen_at, expires_at,
                 ip_address, user_agent_hash, user_agent)
               VALUES ($1::text, sha256(convert_to($1, 'UTF8')), $2, $3, now(), now(), now(), now() + interval '1 hour', '192.0.2.7', '', $4)`,
        values: [sessionId, tenantId, userId, userAgent],
      });
      return sessionId;
    },

    /** A request of `<tenant>-desk` that waits for the approval of a person; resolves with its id. */
    async waitingFor(tenantId = 'acme', username = 'ada', bindingMessage = ''): Promise<string> {
      const backchannels = local(BackchannelAuthenticationService, device, 'gateway', runtime.log);
      const credentials = { clientId: `${tenantId}-desk`, clientSecret: secret, attempted: true };
      const request = {
        caller: callerOf(tenantId),
        credentials,
        scope: 'openid',
        loginHint: username,
        bindingMessage,
      };
      await backchannels.startBackchannelAuthentication(request, call());
      const whose = { tenantId, userId: await userId(tenantId, username) };
      const { requests } = await backchannels.listBackchannelAuthentications(whose, call());
      return requests[0]?.requestId ?? '';
    },

    /** Calls a method with JSON, as curl does. */
    async post(path: string, request: object, accessToken?: string, at = url): Promise<Answer> {
      const headers = {
        'content-type': 'application/json',
        ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
      };
      const response = await fetch(`${at}/${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(request),
      });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    },

    /** A digest of all records with their versions, and of the traces that every change leaves. */
    async everything(): Promise<string> {
      const tables = ['tenant', 'api_resource', 'scope', 'role', 'user_account', 'user_role', 'application'];
      const rows = tables.map(
        (name) => `SELECT '${name}' || t::text || t.xmin::text AS line FROM directory.${name} t`,
      );
      const { rows: found } = await database.query<{ digest: string }>({
        name: 'test.everything',
        text: `SELECT md5(string_agg(line, ' ' ORDER BY line)) AS digest FROM (${rows.join(' UNION ALL ')}
                 UNION ALL SELECT 'secret' || digest FROM directory.application_secret
                 UNION ALL SELECT 'audit' || event_id FROM directory.audit_event
                 UNION ALL SELECT 'audit' || event_id FROM keys.audit_event
                 UNION ALL SELECT 'decision' || d::text FROM device.decision d
                 UNION ALL SELECT 'session' || s::text FROM authorize.session s
                 UNION ALL SELECT 'family' || f::text FROM token.refresh_family f
                 UNION ALL SELECT 'consent' || c::text FROM authorize.consent c
                 UNION ALL SELECT 'mail' || m::text FROM directory.mail m
                 UNION ALL SELECT 'change' || sequence FROM directory.change
                 UNION ALL SELECT 'request' || r::text FROM directory.create_request r) AS lines`,
      });
      return found[0]?.digest ?? '';
    },

    /** The actors of the audit rows of a tenant, oldest first. */
    async actors(tenantId: string): Promise<readonly unknown[]> {
      const { rows } = await database.query<{ actor: unknown }>({
        name: 'test.actors',
        text: `SELECT record -> 'actor' AS actor FROM directory.audit_event WHERE tenant_id = $1 ORDER BY recorded_at, event_id`,
        values: [tenantId],
      });
      return rows.map(({ actor }) => actor);
    },
  };
}

export type Administered = Awaited<ReturnType<typeof administered>>;
