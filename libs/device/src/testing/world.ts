import { hash } from 'node:crypto';
import { create, local } from '@tessera/rpc';
import { systemRandom } from '@tessera/kit';
import type { BuiltService } from '@tessera/rpc';
import type { Database, RedisHandle } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import { OAuthError } from '@tessera/oauth';
import {
  BackchannelAuthenticationService,
  Decision,
  DeviceAuthorizationService,
} from '@tessera/proto-gen/device';
import { ApplicationType } from '@tessera/proto-gen/directory';
import { AuthenticationSchema } from '@tessera/proto-gen/oauth';
import { FakeDirectory, secretOf } from '@tessera/directory-client/testing';
import { counting, silentLog, testDatabase, testRuntime, testRedis, eventually } from '@tessera/test-kit';
import type { FakeApplication } from '@tessera/directory-client/testing';
import type { Counter } from '@tessera/test-kit';
import { buildDevice, migrations } from '../wiring.ts';
import { deviceConfig, deviceLimits } from '../config.ts';
import type { DeviceConfig, DeviceLimits } from '../config.ts';

export const issuer = 'https://id.example';
export const orders = 'https://orders.example';

export interface WorldOptions {
  readonly config?: Partial<DeviceConfig>;
  /** In place of those that follow from `config`. */
  readonly limits?: (usual: DeviceLimits) => Partial<DeviceLimits>;
  readonly runtime?: Partial<Runtime>;
  /** Continue on the stores and the directory of another one, as a second process would. */
  readonly beside?: World;
}

export type World = Awaited<ReturnType<typeof createWorld>>;

/** The service on real Postgres and real Redis, with a directory in memory. To be closed by the test file. */
export async function createWorld({ config = {}, limits, runtime = {}, beside }: WorldOptions = {}) {
  const database: Database & Counter = counting(beside?.database ?? (await testDatabase(migrations)));
  const redis: RedisHandle & Counter = counting(beside?.redis ?? (await testRedis()));
  const directory: FakeDirectory = beside?.directory ?? populated(new FakeDirectory('device'));
  const settings = { ...deviceConfig.parse({}), ...config };
  const usual = deviceLimits(settings);
  const service: BuiltService = buildDevice(
    settings,
    { directory: directory.client },
    testRuntime({ database, redis, ...runtime }),
    { limits: { ...usual, ...limits?.(usual) } },
  );
  // Connecting may take longer than its limit on a busy machine.
  await eventually('the service is ready', () => service.ready().then(() => true));
  return {
    directory,
    database,
    redis,
    service,
    device: local(DeviceAuthorizationService, service, 'gateway', silentLog()),
    backchannel: local(BackchannelAuthenticationService, service, 'gateway', silentLog()),
    polls: {
      device: local(DeviceAuthorizationService, service, 'token', silentLog()),
      backchannel: local(BackchannelAuthenticationService, service, 'token', silentLog()),
    },
    /** Audit rows of an event whose record has these fields, oldest first; waits until there are at least `count`. */
    audited: (event: string, fields: Record<string, string> = {}, count = 1) =>
      auditedRows(database, { event, fields, count }),
  };
}

interface AuditedRow {
  readonly reason: string | null;
  readonly tenant_id: string | null;
  readonly record: Record<string, unknown>;
}

async function auditedRows(
  database: Database,
  { event, fields, count }: { event: string; fields: Record<string, string>; count: number },
): Promise<AuditedRow[]> {
  for (let attempt = 0; ; attempt += 1) {
    const { rows } = await database.query<AuditedRow>({
      name: 'test.audited_events',
      text: `SELECT reason, tenant_id, record FROM device.audit_event
             WHERE event = $1 AND record @> $2::jsonb ORDER BY event_id`,
      values: [event, JSON.stringify(fields)],
    });
    if (rows.length >= count) return rows;
    if (attempt === 2400) throw new Error(`${rows.length} audit rows of ${event} instead of ${count}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Two tenants, with an `ada` in both. */
function populated(directory: FakeDirectory): FakeDirectory {
  for (const tenantId of ['acme', 'umbra']) {
    directory.addTenant(tenantId);
    for (const [index, username] of ['ada', 'bob', 'eve'].entries()) {
      const email = `${username}@people.example`;
      const phoneNumber = `+4670000000${index}`;
      directory.addUser(`${tenantId}-${username}`, { tenantId, username, email, phoneNumber });
    }
  }
  const confidential = { type: ApplicationType.CONFIDENTIAL };
  const add = (clientId: string, difference: Partial<FakeApplication> = {}): void =>
    directory.addApplication(clientId, { ...commonFields(clientId), ...difference });
  add('acme-tv');
  add('acme-box', confidential);
  add('acme-bank', confidential);
  add('acme-hook', { ...confidential, ciba: { approval: 'webhook', url: 'https://hook.example' } });
  add('acme-mute', { ...confidential, ciba: { approval: '', url: '' } });
  add('acme-web', { ...confidential, grantTypes: ['authorization_code'] });
  add('umbra-tv', { ...confidential, tenantId: 'umbra' });
  return directory;
}

function commonFields(clientId: string): Partial<FakeApplication> {
  const builtIn = ['openid', 'profile', 'offline_access'].map((name) => ({ name, audience: '' }));
  return {
    name: `The ${clientId}`,
    type: ApplicationType.PUBLIC,
    grantTypes: ['device_code', 'ciba'],
    scopes: [
      ...builtIn,
      { name: 'orders.read', audience: orders },
      { name: 'stock.read', audience: 'https://stock.example' },
    ],
    ciba: { approval: 'page', url: '' },
  };
}

/** An address of its own, so that the limits of one test are not those of another. */
export const newAddress = (): string => {
  const [a = 0, b = 0, c = 0] = systemRandom.bytes(3);
  return `10.${a}.${b}.${c}`;
};

const clientAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** A device of `clientId` that has begun the flow, and its polls. */
export async function startDevice(
  world: World,
  clientId = 'acme-tv',
  {
    scope = 'openid orders.read',
    resource = '',
    clientSecret = clientId === 'acme-tv' ? '' : secretOf(clientId),
    attempted = false,
    clientAssertion = '',
    ipAddress = newAddress(),
  } = {},
) {
  const started = await world.device.startDeviceAuthorization({
    caller: { ipAddress, issuer },
    credentials: { clientId, clientSecret, attempted, clientAssertion, clientAssertionType },
    scope,
    resource,
  });
  const tenantId = clientId.split('-')[0] ?? '';
  return { ...started, clientId, poll: () => pollDevice(world, started.deviceCode, clientId, tenantId) };
}

export function pollDevice(world: World, secret: string, clientId: string, tenantId = 'acme') {
  return world.polls.device.pollDeviceAuthorization({ secret, clientId, tenantId });
}

/** A request of `acme-bank` for a person, and its polls. */
export async function startBackchannel(
  world: World,
  loginHint: string,
  {
    clientId = 'acme-bank',
    clientSecret = secretOf(clientId),
    attempted = false,
    scope = 'openid orders.read',
    bindingMessage = '',
    requestedExpiry = 0,
    clientNotificationToken = '',
    ipAddress = newAddress(),
  } = {},
) {
  const started = await world.backchannel.startBackchannelAuthentication({
    caller: { ipAddress, issuer },
    credentials: { clientId, clientSecret, attempted },
    scope,
    loginHint,
    bindingMessage,
    requestedExpiry,
    clientNotificationToken,
  });
  return { ...started, poll: () => pollBackchannel(world, started.authReqId, clientId) };
}

export function pollBackchannel(world: World, secret: string, clientId = 'acme-bank', tenantId = 'acme') {
  return world.polls.backchannel.pollBackchannelAuthentication({ secret, clientId, tenantId });
}

/** Somebody with a session, at an address of their own. */
export interface Person {
  readonly tenantId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly ipAddress: string;
}

export function person(name = 'ada', tenantId = 'acme'): Person {
  const sessionId = systemRandom.bytes(8).toString('hex');
  return { tenantId, userId: `${tenantId}-${name}`, sessionId, ipAddress: newAddress() };
}

/** Opens a user code; answers the request id. */
export async function openDevice(world: World, userCode: string, who: Person): Promise<string> {
  const { request } = await world.device.getDeviceAuthorization({ userCode, ...who });
  return request?.requestId ?? '';
}

/** Somebody who exists for one test alone. */
export function newPerson({ directory }: Pick<World, 'directory'>): Person & { readonly username: string } {
  const username = `p${systemRandom.bytes(6).toString('hex')}`;
  const somebody = person(username);
  const { userId, tenantId } = somebody;
  directory.addUser(userId, { tenantId, username });
  return { ...somebody, username };
}

export const authTime = 1_767_225_600;
export const authentication = create(AuthenticationSchema, { time: authTime, methods: ['pwd'] });

export function decideDevice(
  world: World,
  requestId: string,
  who: Person,
  decision: Decision = Decision.APPROVE,
) {
  return world.device.decideDeviceAuthorization({
    requestId,
    decision,
    approver: { ...who, authentication },
  });
}

export function decideBackchannel(
  world: World,
  requestId: string,
  who: Person,
  decision: Decision = Decision.APPROVE,
) {
  return world.backchannel.decideBackchannelAuthentication({
    requestId,
    decision,
    approver: { ...who, authentication },
  });
}

/** What waits for a person. */
export async function waitingFor(world: World, { tenantId, userId }: Person) {
  return (await world.backchannel.listBackchannelAuthentications({ tenantId, userId })).requests;
}

/** The protocol error code of a refused call. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'no error';
  } catch (error) {
    if (error instanceof OAuthError) return error.code;
    throw error;
  }
}

/** Hexadecimal SHA-256 of what a client polls with. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'hex');
