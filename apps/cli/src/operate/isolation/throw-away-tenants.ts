import { Code, ConnectError, type CallOptions } from '@tessera/rpc';
import { systemRandom, uuid } from '@tessera/kit';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { withService, type ClientOf } from '../records/with-service.ts';
import { CommandError, type Terminal } from '../../terminal.ts';

/** A tenant with a person, an API resource and three applications, for a few seconds. */
export interface ThrowAwayTenant {
  readonly id: string;
  readonly username: string;
  readonly password: string;
  /** Signs people in, acts on its own behalf, introspects. */
  readonly web: string;
  readonly tv: string;
  readonly desk: string;
  /** Of `web` and `desk`. */
  readonly secret: string;
  readonly redirectUri: string;
  readonly loggedOutUri: string;
  /** A resource of this tenant alone, and its scope. */
  readonly audience: string;
  readonly scope: string;
  /** A resource that both tenants have, so that a token's audience does not tell them apart. */
  readonly sharedAudience: string;
  readonly sharedScope: string;
}

/** Two of them, with names that nobody has. */
export function newTenants(): readonly [ThrowAwayTenant, ThrowAwayTenant] {
  const shared = `smoke-${randomHex()}`;
  return [newTenant(shared), newTenant(shared)];
}

const secretOf = (): string => systemRandom.bytes(32).toString('base64url');
const randomHex = (): string => systemRandom.bytes(5).toString('hex');

function newTenant(shared: string): ThrowAwayTenant {
  const id = `smoke-${randomHex()}`;
  return {
    id,
    username: `${id}-person`,
    password: secretOf(),
    web: `${id}-web`,
    tv: `${id}-tv`,
    desk: `${id}-desk`,
    secret: secretOf(),
    redirectUri: `https://${id}.example/callback`,
    loggedOutUri: `https://${id}.example/goodbye`,
    audience: `https://${id}.example/api`,
    scope: `${id}.read`,
    sharedAudience: `https://${shared}.example/api`,
    sharedScope: `${shared}.read`,
  };
}

const timeoutMs = 30_000;

/** Creates the tenants with all that they have. May leave a part of them if it fails. Throws CommandError. */
export async function createTenants(tenants: readonly ThrowAwayTenant[], terminal: Terminal): Promise<void> {
  // The work is repeated if a store is unavailable, and creates each record once.
  const requestIds = new Map<string, string>();
  const requestId = (record: string): string => {
    const id = requestIds.get(record) ?? uuid();
    requestIds.set(record, id);
    return id;
  };
  await withService('directory', terminal, {
    name: 'Creating tenants',
    timeoutMs,
    async run(clientOf, call) {
      for (const tenant of tenants) await createTenant(tenant, requestId, clientOf, call);
    },
  });
}

async function createTenant(
  tenant: ThrowAwayTenant,
  requestId: (record: string) => string,
  clientOf: ClientOf,
  call: CallOptions,
): Promise<void> {
  const { id, username, password, web, tv, desk, secret, redirectUri, loggedOutUri } = tenant;
  const { audience, scope, sharedAudience, sharedScope } = tenant;
  const owned = (record: string) => ({ tenantId: id, requestId: requestId(`${id} ${record}`) });
  await clientOf(TenantsService).create({ ...owned('tenant'), tenant: { name: id } }, call);
  const resources = [
    { audience, name: 'API', scopes: [{ name: scope }] },
    { audience: sharedAudience, name: 'Shared API', scopes: [{ name: sharedScope }], shared: true },
  ];
  for (const resource of resources)
    await clientOf(ResourcesService).create({ ...owned(resource.audience), resource }, call);
  await clientOf(UsersService).create({ ...owned(username), user: { username, password } }, call);
  const applications = [
    {
      clientId: web,
      name: 'Web',
      type: 'confidential',
      grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
      redirectUris: [redirectUri],
      logoutRedirectUris: [loggedOutUri],
      scopes: ['openid', 'offline_access', scope, sharedScope],
      introspectAudiences: [audience, sharedAudience],
    },
    { clientId: tv, name: 'TV', type: 'public', grantTypes: ['device_code'], scopes: ['openid'] },
    {
      clientId: desk,
      name: 'Desk',
      type: 'confidential',
      grantTypes: ['ciba'],
      scopes: ['openid'],
      ciba: { approval: 'page' },
    },
  ];
  const calls = clientOf(ApplicationsService);
  for (const application of applications) {
    const { clientId, type } = application;
    await calls.create({ ...owned(clientId), application }, call);
    if (type === 'confidential')
      await calls.createSecret({ ...owned(`${clientId} secret`), clientId, value: secret }, call);
  }
}

/** Deletes all that was created of the tenants. Throws CommandError, which names them. */
export async function deleteTenants(tenants: readonly ThrowAwayTenant[], terminal: Terminal): Promise<void> {
  const names = tenants.map(({ id }) => id).join(' and ');
  try {
    await withService('directory', terminal, {
      name: 'Deleting tenants',
      timeoutMs,
      async run(clientOf, call) {
        for (const { id } of tenants) await deleteTenant(id, clientOf, call).catch(unlessAbsent);
      },
    });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(`Delete the tenants ${names}: this command could not. ${error.message}`);
  }
  terminal.say(`The tenants ${names} are deleted.\n`);
}

async function deleteTenant(tenantId: string, clientOf: ClientOf, call: CallOptions): Promise<void> {
  const page = { tenantId, pageSize: 100 };
  const [applications, resources, users] = [
    clientOf(ApplicationsService),
    clientOf(ResourcesService),
    clientOf(UsersService),
  ];
  for (const { clientId } of (await applications.list(page, call)).applications)
    await applications.delete({ tenantId, clientId }, call);
  for (const { audience } of (await resources.list(page, call)).resources)
    await resources.delete({ tenantId, audience }, call);
  for (const { userId } of (await users.list(page, call)).users)
    await users.delete({ tenantId, userId }, call);
  await clientOf(TenantsService).delete({ tenantId }, call);
}

function unlessAbsent(error: unknown): void {
  if (!(error instanceof ConnectError) || error.code !== Code.NotFound) throw error;
}
