import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { local } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { call, type Administered } from './administered.ts';

let made = 0;

/** Records that a page of this path is about, by the names of its parts, of its own: some pages delete them. */
export async function ownRecords(
  on: Administered,
  path: string,
  of: string,
): Promise<Readonly<Record<string, string>>> {
  made += 1;
  return {
    kind: 'web',
    ...(path.includes(':application') &&
      !path.includes(':person') &&
      (await ownApplication(on, of, `own-${made}`))),
    ...(path.includes('deleted-') && (await ownDeleted(on, path, of, `own-${made}`))),
    ...(path.includes(':api') && (await ownApi(on, of, `https://api-${made}.example`))),
    ...(path.includes(':role') && (await ownRole(on, of, `role-${made}`))),
    ...(path.includes(':provider') && (await ownProvider(on, of))),
    ...(/:passkey|:linked|\/app\/remove/.test(path) && (await ownPerson(on, of, `own.${made}`))),
  };
}

async function ownApplication(on: Administered, tenantId: string, clientId: string) {
  const applications = local(ApplicationsService, on.directory, 'operator', silentLog());
  const application = {
    clientId,
    name: 'Own',
    type: 'confidential',
    grantTypes: ['authorization_code'],
    redirectUris: ['https://own.example/callback'],
  };
  await applications.create({ tenantId, application }, call());
  const { secretId } = await applications.createSecret({ tenantId, clientId }, call());
  return { application: clientId, secret: secretId };
}

/** Deletes an application, and a person, that can be restored. */
async function ownDeleted(on: Administered, path: string, tenantId: string, name: string) {
  const applications = local(ApplicationsService, on.directory, 'operator', silentLog());
  const users = local(UsersService, on.directory, 'operator', silentLog());
  if (!path.includes(':application')) await ownApplication(on, tenantId, name);
  await applications.delete({ tenantId, clientId: name }, call());
  const { userId } = await users.create({ tenantId, user: { username: name, name: 'Own' } }, call());
  await users.delete({ tenantId, userId }, call());
  return { person: userId };
}

async function ownApi(on: Administered, tenantId: string, audience: string) {
  const resources = local(ResourcesService, on.directory, 'operator', silentLog());
  const scope = `${new URL(audience).hostname}.read`;
  await resources.create(
    { tenantId, resource: { audience, name: 'API', scopes: [{ name: scope }] } },
    call(),
  );
  return { api: audience, scope: scope };
}

async function ownRole(on: Administered, tenantId: string, name: string) {
  const roles = local(RolesService, on.directory, 'operator', silentLog());
  await roles.create({ tenantId, role: { name } }, call());
  return { role: name };
}

async function ownProvider(on: Administered, tenantId: string) {
  const provider = { name: 'corp', ...ofProvider, clientSecret: 'the secret of corp' };
  const document = JSON.stringify({ tenants: [{ id: tenantId, providers: [provider] }] });
  const state = local(DeclaredStateService, on.directory, 'operator', silentLog());
  const keptKinds = ['resource', 'role', 'user', 'application'];
  await state.apply({ tenantId, document, owner: 'console', keptKinds, allowDelete: true }, call());
  return { provider: 'corp' };
}

/** A person with one of each way in that can be removed. */
async function ownPerson(on: Administered, tenantId: string, username: string) {
  const users = local(UsersService, on.directory, 'operator', silentLog());
  const { userId } = await users.create({ tenantId, user: { username, name: 'Own' } }, call());
  const passkey = `passkey-of-${username}`;
  await on.database.query({
    name: 'test.give_passkey',
    text: `INSERT INTO directory.passkey (tenant_id, credential_id, user_id, user_handle, rp_id, public_key, sign_count,
             transports, synced, backed_up, name)
           VALUES ($1, $3, $2, $2, 'id.example', '', 0, '{}', false, false, 'Laptop')`,
    values: [tenantId, userId, passkey],
  });
  await on.database.query({
    name: 'test.give_app',
    text: `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, 'x', 0)`,
    values: [tenantId, userId],
  });
  await on.database.query({
    name: 'test.give_recovery_code',
    text: `INSERT INTO directory.recovery_code (tenant_id, user_id, digest) VALUES ($1, $2, 'x')`,
    values: [tenantId, userId],
  });
  await on.database.query({
    name: 'test.give_identity',
    text: `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
           VALUES ($1, 'corp', 'https://sso.corp.example', $2, $2)`,
    values: [tenantId, userId],
  });
  return { person: userId, passkey, linked: 'corp' };
}

const ofProvider = {
  preset: 'none',
  displayName: 'Corp',
  issuer: 'https://sso.corp.example',
  clientId: 'tessera',
};

/** What is filled in on a page. */
export const filledIn = (path: string): Readonly<Record<string, string>> => {
  made += 1;
  const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    '/new-person': { username: `made-${made}`, name: 'Made' },
    '/people/:person/edit': { username: `edited-${made}`, name: 'Edited' },
    '/new-application/:kind': { name: 'Made', redirectUris: 'https://made.example/callback' },
    '/applications/:application/edit': { name: 'Other', redirectUris: 'https://own.example/callback' },
    '/new-api': { name: 'Made', audience: `https://made-${made}.example` },
    '/apis/:api/edit': { name: 'Other', tokenType: 'at+jwt', signingAlgorithm: 'RS256' },
    '/apis/:api/new-scope': { name: `made-${made}.read`, description: 'See it' },
    '/new-role': { name: `made-${made}` },
    '/new-provider': { name: `made-${made}`, ...ofProvider, clientSecret: 'a secret' },
    '/providers/:provider/edit': ofProvider,
    '/settings/looks': { name: 'Named anew', 'looks.accentColor': '#112233' },
    '/settings/policy': { authenticationPolicy: 'any', registration: 'closed' },
  };
  return fields[path.replace('/o/:tenant', '')] ?? {};
};
