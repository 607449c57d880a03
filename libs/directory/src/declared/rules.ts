import { checkApplication } from '../applications/checks.ts';
import { isBuiltInScope, refuseRepeated, type Report } from '../fields/checks.ts';
import { identifiersOf, type TenantState } from '../store/records.ts';
import type { DeclaredTenant } from './schema.ts';

/** The message for an audience of two tenants that do not both say that it is shared. */
export const sharedAudience =
  'is declared by another tenant of the same issuer; say "shared: true" at every tenant that declares it';

/** The message for a client ID that is such an audience, and the reverse: `typ` and `aud` of the tokens would not differ. */
export const jwtAudienceAsClientId =
  'is both a client id and the audience of a resource with tokenType JWT; its access tokens could pass for ID tokens';

/** The rules that involve more than one key. */
export function checkRules(tenants: readonly DeclaredTenant[], report: Report): void {
  refuseRepeated(
    tenants.map((tenant) => tenant.id),
    (index) => report(['tenants', index, 'id'], 'is declared twice'),
  );
  checkIssuers(tenants, report);
  checkAudiences(tenants, report);
  const clientIds = new Set<string>();
  const jwtAudiences = new Set(tenants.flatMap(jwtAudiencesOf));
  tenants.forEach((tenant, tenantIndex) => {
    const inTenant: Report = (path, message) => report(['tenants', tenantIndex, ...path], message);
    checkResources(tenant, inTenant);
    checkUsers(tenant, inTenant);
    tenant.applications.forEach((application, index) => {
      const here: Report = (path, message) => inTenant(['applications', index, ...path], message);
      if (clientIds.has(application.clientId)) here(['clientId'], 'is declared twice');
      clientIds.add(application.clientId);
      if (jwtAudiences.has(application.clientId)) here(['clientId'], jwtAudienceAsClientId);
      checkApplication(application, tenant, here);
    });
  });
}

/** The audiences whose access tokens have the `typ` of ID tokens. */
export function jwtAudiencesOf({ resources }: Pick<TenantState, 'resources'>): string[] {
  return resources.filter(({ tokenType }) => tokenType === 'JWT').map(({ audience }) => audience);
}

/** An issuer identifies its tenant. Requests are matched by host and path, so these must differ. */
function checkIssuers(tenants: readonly DeclaredTenant[], report: Report): void {
  const known = new Set<string>();
  tenants.forEach(({ issuer }, index) => {
    if (issuer === undefined) return;
    const place = issuer.replace(/^https?:/, '');
    if (known.has(place)) report(['tenants', index, 'issuer'], 'is declared twice');
    known.add(place);
  });
}

/** Tokens of one issuer are told apart by their audience: two tenants may have one only if both say that it is shared. */
function checkAudiences(tenants: readonly DeclaredTenant[], report: Report): void {
  const owners = new Map<string, { readonly first: number; shared: boolean }>();
  const atSharedIssuer = [...tenants.entries()].filter(([, { issuer }]) => issuer === undefined);
  for (const [tenantIndex, { resources }] of atSharedIssuer) {
    resources.forEach(({ audience, shared }, index) => {
      const owner = owners.get(audience) ?? { first: tenantIndex, shared: true };
      owner.shared &&= shared;
      owners.set(audience, owner);
      if (owner.first === tenantIndex || owner.shared) return;
      report(['tenants', tenantIndex, 'resources', index, 'audience'], sharedAudience);
    });
  }
}

function checkResources(tenant: DeclaredTenant, report: Report): void {
  refuseRepeated(
    tenant.resources.map((resource) => resource.audience),
    (index) => report(['resources', index, 'audience'], 'is declared twice'),
  );
  refuseRepeated(tenant.roles, (index) => report(['roles', index], 'is declared twice'));
  const scopes = new Set<string>();
  tenant.resources.forEach((resource, resourceIndex) =>
    resource.scopes.forEach((scope, index) => {
      const path = ['resources', resourceIndex, 'scopes', index];
      if (isBuiltInScope(scope.name)) report(path, 'is built in and may not be declared');
      if (scopes.has(scope.name)) {
        report(path, 'is declared twice; a scope belongs to exactly one resource of its tenant');
      }
      scopes.add(scope.name);
    }),
  );
}

function checkUsers(tenant: DeclaredTenant, report: Report): void {
  const roles = new Set(tenant.roles);
  const identifiers = new Set<string>();
  tenant.users.forEach((user, userIndex) => {
    const here: Report = (path, message) => report(['users', userIndex, ...path], message);
    for (const identifier of identifiersOf(user)) {
      if (identifiers.has(identifier)) {
        here([], 'shares a user name, e-mail address or phone number with another user of the tenant');
      }
      identifiers.add(identifier);
    }
    if (user.emailVerified !== undefined && user.email === '') here(['emailVerified'], 'needs an email');
    if (user.phoneNumberVerified !== undefined && user.phoneNumber === '') {
      here(['phoneNumberVerified'], 'needs a phoneNumber');
    }
    if (user.password !== undefined && user.passwordHash !== undefined) {
      here(['passwordHash'], 'cannot stand beside password');
    }
    user.roles.forEach((role, index) => {
      if (!roles.has(role)) here(['roles', index], 'is not a role of the tenant');
    });
    refuseRepeated(user.roles, (index) => here(['roles', index], 'is listed twice'));
  });
}
