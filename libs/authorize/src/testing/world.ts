import { hash } from 'node:crypto';
import { local } from '@tessera/rpc';
import { opaqueValue, systemRandom } from '@tessera/kit';
import type { BuiltService, Client } from '@tessera/rpc';
import type { Database, RedisHandle } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import { AccountService } from '@tessera/proto-gen/account';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { ApplicationType } from '@tessera/proto-gen/directory';
import { FakeDirectory } from '@tessera/directory-client/testing';
import { eventually, counting, silentLog, testDatabase, testRuntime, testRedis } from '@tessera/test-kit';
import type { FakeApplication } from '@tessera/directory-client/testing';
import type { Counter } from '@tessera/test-kit';
import type { SignInLimits } from '../limits/guess-limits.ts';
import type { Step } from '../visits/step.ts';
import { createSteps } from '../interaction/step-table.ts';
import { limitsOf } from '../limits/guess-limits.ts';
import { buildAuthorize, migrations } from '../wiring.ts';
import { authorizeConfig } from '../config.ts';
import type { AuthorizeConfig } from '../config.ts';

/** Two tenants; `ada` of each has the same address, as two people of two companies may. */
export const password = 'correct horse battery staple';
export const issuer = 'https://id.example';
export const verifier = 'v'.repeat(43);
export const challenge = hash('sha256', verifier, 'base64url');

export const web = {
  clientId: 'acme-web',
  redirectUri: 'https://app.example/cb',
  scope: 'openid profile orders.read',
} as const;

export interface World {
  readonly directory: FakeDirectory;
  readonly database: Database & Counter;
  readonly redis: RedisHandle & Counter;
  readonly service: BuiltService;
  readonly gateway: Client<typeof AuthorizeService>;
  readonly account: Client<typeof AccountService>;
  readonly token: Client<typeof AuthorizeService>;
  /** Audit rows of an event, oldest first; waits until there are at least `count`. */
  audited(event: string, count?: number): Promise<Record<string, unknown>[]>;
  /** Every value that must never be found at rest or in the audit. */
  readonly secrets: Set<string>;
}

export interface WorldOptions {
  readonly config?: Partial<AuthorizeConfig>;
  /** In place of the numbers that follow from `config`. */
  readonly limits?: Partial<Record<'accountTotal' | 'addressTotal', number>>;
  readonly runtime?: Partial<Runtime>;
  /** Steps after those of the product. */
  readonly steps?: readonly Step[];
  /** Continue on the stores and the directory of another one, as a second process would. */
  readonly beside?: World;
}

/** The service on real Postgres and real Redis, with a directory in memory. To be closed by the test file. */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { config = {}, limits = {}, runtime = {}, steps = [], beside } = options;
  const database = counting(beside?.database ?? (await testDatabase(migrations)));
  const redis = counting(beside?.redis ?? (await testRedis()));
  const directory = beside?.directory ?? populated(new FakeDirectory('authorize'));
  const settings = { ...authorizeConfig.parse({}), ...config };
  const service = buildAuthorize(
    settings,
    { directory: directory.client, person: directory.person },
    testRuntime({ database, redis, ...runtime }),
    {
      stepsOf: (deps) => [...createSteps(deps), ...steps],
      limits: withLimits(limitsOf(settings), limits),
    },
  );
  // Connecting may take longer than its limit on a busy machine.
  await eventually('the service is ready', () => service.ready().then(() => true));
  return {
    directory,
    database,
    redis,
    service,
    gateway: local(AuthorizeService, service, 'gateway', silentLog()),
    account: local(AccountService, service, 'gateway', silentLog()),
    token: local(AuthorizeService, service, 'token', silentLog()),
    audited: (event, count = 1) => auditedRows(database, event, count),
    secrets: beside?.secrets ?? new Set([password, verifier]),
  };
}

function withLimits(usual: SignInLimits, numbers: NonNullable<WorldOptions['limits']>): SignInLimits {
  const of = (name: keyof typeof numbers) => ({ ...usual[name], limit: numbers[name] ?? usual[name].limit });
  return { ...usual, accountTotal: of('accountTotal'), addressTotal: of('addressTotal') };
}

async function auditedRows(database: Database, event: string, count: number) {
  for (let attempt = 0; ; attempt += 1) {
    const { rows } = await database.query<{ record: Record<string, unknown> }>({
      name: 'test.audited_events',
      text: 'SELECT record FROM authorize.audit_event WHERE event = $1 ORDER BY event_id',
      values: [event],
    });
    if (rows.length >= count) return rows.map(({ record }) => record);
    if (attempt === 2400) throw new Error(`${rows.length} audit rows of ${event} instead of ${count}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function populated(directory: FakeDirectory): FakeDirectory {
  for (const tenantId of ['acme', 'umbra']) {
    directory.addTenant(tenantId, { name: tenantId.toUpperCase() });
    for (const username of ['ada', 'bob']) {
      directory.addUser(`${tenantId}-${username}`, {
        tenantId,
        username,
        email: `${username}@people.example`,
        phoneNumber: `+4670${username === 'ada' ? 1 : 2}`,
        name: username.toUpperCase(),
        password,
      });
    }
  }
  const add = (tenantId: string, clientId: string, rest: Partial<FakeApplication>): void =>
    directory.addApplication(clientId, { tenantId, ...commonFields(clientId), ...rest });
  add('acme', web.clientId, {
    redirectUris: [web.redirectUri, 'https://app.example/other?a=1'],
    logoutRedirectUris: ['https://app.example/', 'https://app.example/x?a=1#f'],
  });
  add('acme', 'acme-spa', { redirectUris: ['https://spa.example/cb'] });
  add('acme', 'acme-job', { redirectUris: ['https://job.example/cb'], grantTypes: ['client_credentials'] });
  add('umbra', 'umbra-web', {
    redirectUris: ['https://umbra.example/cb'],
    logoutRedirectUris: ['https://umbra.example/'],
  });
  return directory;
}

function commonFields(clientId: string): Partial<FakeApplication> {
  const builtIn = ['openid', 'profile', 'email', 'offline_access'].map((name) => ({ name, audience: '' }));
  return {
    name: clientId.toUpperCase(),
    type: ApplicationType.PUBLIC,
    grantTypes: ['authorization_code'],
    scopes: [
      ...builtIn,
      { name: 'orders.read', audience: 'https://orders.example' },
      { name: 'stock.read', audience: 'https://stock.example' },
    ],
  };
}

/** The parameters of a good request, with differences; undefined leaves one out. */
export function request(difference: Record<string, string | undefined> = {}): Record<string, string> {
  const parameters = {
    client_id: web.clientId,
    redirect_uri: web.redirectUri,
    response_type: 'code',
    scope: web.scope,
    state: 'xyz',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...difference,
  };
  const present = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(present);
}

export function newBrowserId(): string {
  return opaqueValue('tb_', systemRandom);
}
