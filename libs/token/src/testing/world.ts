import { loadConfig, type Runtime } from '@tessera/process';
import { local, rootCall } from '@tessera/rpc';
import { systemClock } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { ClientAuthenticationMethod, IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import { secretOf } from '@tessera/directory-client/testing';
import { eventually, counting, fakeClock, testDatabase, testRuntime } from '@tessera/test-kit';
import { buildToken, migrations } from '../wiring.ts';
import { tokenConfig } from '../config.ts';
import { FakeAuthorize, FakeDevice, redirectUri, verifier, type FakeGrant } from './fake-authorize.ts';
import { orders, populatedDirectory } from './declared-records.ts';
import { FakeKeys, testKey } from './fake-keys.ts';

export const issuer = 'https://id.example';
export const caller = { ipAddress: '192.0.2.7', issuer };

/** The options of a call for one external request. */
export const call = () => rootCall('a-request');

export interface WorldOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly runtime?: Partial<Runtime>;
  readonly withoutDevice?: boolean;
}

export type World = Awaited<ReturnType<typeof world>>;

/** The token service with its own database and fakes of the other services. */
export async function world({
  settings = {},
  runtime: overrides = {},
  withoutDevice = false,
}: WorldOptions = {}) {
  const database = counting(overrides.database ?? (await testDatabase(migrations)));
  const clock = fakeClock(systemClock.now());
  const key = testKey('key-1');
  const es256 = testKey('key-es', 'ES256');
  const keys = new FakeKeys(key, es256);
  const directory = populatedDirectory();
  const authorize = new FakeAuthorize();
  const device = new FakeDevice();
  const environment = {
    TESSERA_TOKEN_REFRESH_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
    ...settings,
  };
  const config = loadConfig(tokenConfig, environment, { known: Object.keys(environment) });
  const runtime = testRuntime({ clock, ...overrides, database });
  const peers = { keys: keys.peer(), directory: directory.client, authorize: authorize.peer() };
  const service = buildToken(config, withoutDevice ? peers : { ...peers, device: device.peers() }, runtime);
  // Connecting may take longer than its limit on a busy machine.
  await eventually('the service is ready', () => service.ready().then(() => true));
  const token = local(TokenService, service, 'gateway', runtime.log);
  const introspection = local(IntrospectionService, service, 'gateway', runtime.log);

  const exchange = (clientId: string, request: Partial<ExchangeRequest>) =>
    token.exchange({ caller, credentials: credentialsOf(clientId), ...plain(request) }, call());
  const newCode = (overrides: Partial<FakeGrant> = {}) => authorize.issue({ ...grantOf(), ...overrides });
  const redeem = (code: string, clientId = 'web', more: Partial<ExchangeRequest> = {}) =>
    exchange(clientId, {
      grantType: 'authorization_code',
      code,
      codeVerifier: verifier,
      redirectUri,
      ...more,
    });

  let lists = 0;
  return {
    database,
    clock,
    key,
    es256,
    keys,
    directory,
    authorize,
    device,
    token,
    introspection,
    service,
    runtime,
    exchange,
    newCode,
    redeem,
    /** The token response for a new code, with a refresh token. */
    signIn: (overrides: Partial<FakeGrant> = {}) => redeem(newCode(overrides), overrides.clientId ?? 'web'),
    refresh: (refreshToken: string, clientId = 'web', more: Partial<ExchangeRequest> = {}) =>
      exchange(clientId, { grantType: 'refresh_token', refreshToken, ...more }),
    introspect: (value: string, clientId?: string) =>
      introspection.introspect(
        { token: value, caller, ...(clientId !== undefined && { credentials: credentialsOf(clientId) }) },
        call(),
      ),
    /** The audit events so far, oldest first. A refusal of its own, which comes last, tells that all are written. */
    async events(): Promise<AuditedEvent[]> {
      const last = `last-of-list-${(lists += 1)}`;
      const grant = {
        grantType: 'refresh_token',
        refreshToken: 'none',
        credentials: credentialsOf('nobody'),
      };
      const asked = token.exchange(
        { caller: { ipAddress: '192.0.2.250', issuer }, ...grant },
        rootCall(last),
      );
      await asked.catch(() => undefined);
      let rows: readonly AuditedEvent[] = [];
      await eventually('the audit events are written', async () => {
        rows = await audited(database);
        return rows.some(({ record }) => record['requestId'] === last);
      });
      return rows.filter(({ record }) => !String(record['requestId']).startsWith('last-of-list-'));
    },
    /** Moves the times of every refresh family into the past. */
    async elapse(seconds: number): Promise<void> {
      await database.query({
        name: 'test.elapse_all',
        text: `UPDATE token.refresh_family
               SET rotated_at = rotated_at - make_interval(secs => $1::float8),
                   previous_rotated_at = previous_rotated_at - make_interval(secs => $1::float8),
                   previous_idle_expires_at = previous_idle_expires_at - make_interval(secs => $1::float8),
                   idle_expires_at = idle_expires_at - make_interval(secs => $1::float8),
                   absolute_expires_at = absolute_expires_at - make_interval(secs => $1::float8)`,
        values: [seconds],
      });
    },
    close: () => service.close(),
  };
}

interface AuditedEvent {
  readonly event: string;
  readonly reason: string | null;
  readonly record: Record<string, unknown>;
}

async function audited(database: Database): Promise<AuditedEvent[]> {
  const text = 'SELECT event, reason, record FROM token.audit_event ORDER BY recorded_at, event_id';
  return (await database.query<AuditedEvent & Record<string, unknown>>({ name: 'test.events', text })).rows;
}

function plain({ $typeName: _, $unknown: __, ...fields }: Partial<ExchangeRequest>) {
  return fields;
}

export function credentialsOf(clientId: string, clientSecret = clientId === 'spa' ? '' : secretOf(clientId)) {
  const method =
    clientSecret === '' ? ClientAuthenticationMethod.NONE : ClientAuthenticationMethod.CLIENT_SECRET_POST;
  return { clientId, clientSecret, method };
}

export function grantOf(): FakeGrant {
  return {
    tenantId: 'acme',
    clientId: 'web',
    userId: 'ada',
    scopes: ['openid', 'profile', 'offline_access', 'orders.read', 'orders.write'],
    resource: orders,
    nonce: 'n-0S6_WzA2Mj',
    authTime: 1_700_000_000n,
    sessionId: 'session-1',
    issuer,
  };
}

/** The claims of a JWT, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<
    string,
    unknown
  >;
}

/** The protocol error code of a refused call. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'no error';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}
