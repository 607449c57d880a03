import type { JsonObject } from '@bufbuild/protobuf';
import { systemRandom } from '@tessera/kit';
import { adminScopes } from '@tessera/oauth';
import { CommandError, type Terminal } from '../../terminal.ts';
import type { Administration } from './administration.ts';

/** A tenant with one of everything, for a few seconds. All names that it alone has begin with its identifier. */
export type ThrowAwayTenant = ReturnType<typeof newTenant>;

/** Two of them, with names that nobody has. */
export function newTenants(): readonly [ThrowAwayTenant, ThrowAwayTenant] {
  const shared = randomName('smoke');
  return [newTenant(shared), newTenant(shared)];
}

/** A name that nobody has. */
export const randomName = (of: string): string => `${of}-${systemRandom.bytes(5).toString('hex')}`;

const secretOf = (): string => systemRandom.bytes(32).toString('base64url');

/** @param shared the name of an API of both tenants, so that the audience of a token does not tell them apart */
function newTenant(shared: string) {
  const id = randomName('smoke');
  return {
    id,
    /** Who declares what it has. */
    owner: shared,
    username: `${id}-person`,
    password: secretOf(),
    role: `${id}-clerk`,
    provider: `${id}-provider`,
    /** Signs people in, acts on its own behalf, introspects. */
    web: `${id}-web`,
    /** Of a third party: people are asked for their consent. */
    partner: `${id}-partner`,
    tv: `${id}-tv`,
    desk: `${id}-desk`,
    /** Administers the tenant. */
    robot: `${id}-robot`,
    /** Of all that are confidential. */
    secret: secretOf(),
    redirectUri: `https://${id}.example/callback`,
    loggedOutUri: `https://${id}.example/goodbye`,
    audience: `https://${id}.example/api`,
    scope: `${id}.read`,
    sharedAudience: `https://${shared}.example/api`,
    sharedScope: `${shared}.read`,
  };
}

/** What a tenant has, as it is declared in a file. */
function declared(of: ThrowAwayTenant): string {
  const { id, role, secret, redirectUri, scope, sharedScope } = of;
  const confidential = `type: confidential, secrets: [{value: ${secret}}]`;
  return `
  - id: ${id}
    roles: [${role}]
    resources:
      - {audience: '${of.audience}', name: API, scopes: [${scope}]}
      - {audience: '${of.sharedAudience}', name: Shared API, scopes: [${sharedScope}], shared: true}
    providers: [{name: ${of.provider}, issuer: 'https://${id}.invalid', clientId: ${id}, clientSecret: ${secret}}]
    users: [{username: ${of.username}, password: ${of.password}, roles: [${role}]}]
    applications:
      - {clientId: ${of.web}, name: Web, ${confidential}, grantTypes: [authorization_code, refresh_token, client_credentials],
         redirectUris: ['${redirectUri}'], logoutRedirectUris: ['${of.loggedOutUri}'],
         scopes: [openid, offline_access, ${scope}, ${sharedScope}], introspectAudiences: ['${of.audience}', '${of.sharedAudience}']}
      - {clientId: ${of.partner}, name: Partner, type: public, thirdParty: true, grantTypes: [authorization_code],
         redirectUris: ['${redirectUri}'], scopes: [openid]}
      - {clientId: ${of.tv}, name: TV, type: public, grantTypes: [device_code], scopes: [openid]}
      - {clientId: ${of.desk}, name: Desk, ${confidential}, grantTypes: [ciba], scopes: [openid], ciba: {approval: page}}
      - {clientId: ${of.robot}, name: Robot, ${confidential}, grantTypes: [client_credentials], scopes: [${[...adminScopes.keys()].join()}],
         owners: ['*']}`;
}

/** Declares what a tenant has. */
async function apply(
  { id: tenantId, owner }: ThrowAwayTenant,
  entry: string,
  { call }: Administration,
): Promise<void> {
  const document = `owner: ${owner}\ntenants:${entry}`;
  const allowed = { allowAdministration: true, allowDelete: true };
  await call('DeclaredStateService.Apply', { tenantId, document, fileName: 'smoke', ...allowed });
}

/** Creates the tenants with all that they have. May leave a part of them if it fails. */
export async function createTenants(
  tenants: readonly [ThrowAwayTenant, ThrowAwayTenant],
  administration: Administration,
): Promise<void> {
  for (const { id } of tenants)
    await administration.call('TenantsService.Create', { tenantId: id, tenant: { name: id } });
  for (const tenant of tenants) await apply(tenant, declared(tenant), administration);
}

/** Deletes all that was created of the tenants. Throws CommandError, which names them. */
export async function deleteTenants(
  tenants: readonly ThrowAwayTenant[],
  administration: Administration,
  terminal: Terminal,
): Promise<void> {
  const names = tenants.map(({ id }) => id).join(' and ');
  try {
    for (const tenant of tenants) await deleteTenant(tenant, administration);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new CommandError(`Delete the tenants ${names}: this command could not. ${error.message}`);
  }
  terminal.say(`The tenants ${names} are deleted.\n`);
}

/** What identifies the records of each kind, in the order in which they can be deleted. */
const keys = { Applications: 'clientId', Resources: 'audience', Users: 'userId', Roles: 'name' };

async function deleteTenant(tenant: ThrowAwayTenant, administration: Administration) {
  const { id: tenantId } = tenant;
  const { call } = administration;
  if ((await call('TenantsService.Get', { tenantId }, 'absent')) === undefined) return;
  // First what calls have made, as it refers to what is declared.
  for (const [kind, key] of Object.entries(keys)) {
    const page = await call(`${kind}Service.List`, { tenantId, pageSize: 1000 });
    for (const record of (page[kind.toLowerCase()] ?? []) as JsonObject[])
      if (record['owner'] === 'api')
        await call(`${kind}Service.Delete`, { tenantId, [key]: record[key] ?? '' }, 'absent');
  }
  await apply(tenant, `\n  - id: ${tenantId}`, administration);
  await call('TenantsService.Delete', { tenantId });
}
