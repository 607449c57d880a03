import { builtInScopes, introspectionScope, serviceScopes } from '@tessera/oauth';
import { identifiersOf, type TenantState } from '../store/records.ts';
import type { Path } from './positions.ts';
import type { DeclaredApplication, DeclaredTenant } from './schema.ts';

/** The message for an audience of two tenants that do not both say that it is shared. */
export const sharedAudience =
  'is declared by another tenant of the same issuer; say "shared: true" at every tenant that declares it';

/** The message for a client ID that is such an audience, and the reverse: `typ` and `aud` of the tokens would not differ. */
export const jwtAudienceAsClientId =
  'is both a client id and the audience of a resource with tokenType JWT; its access tokens could pass for ID tokens';

/** Called with every mistake. */
export type Report = (path: Path, message: string) => void;

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
      checkClientType(application, here);
      checkGrants(application, here);
      checkClaims(application, here);
      checkIdTokenClaims(application, here);
      checkReferences(application, tenant, here);
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
      if (isBuiltIn(scope.name)) report(path, 'is built in and may not be declared');
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

/** RFC 6749 §2.1: a confidential client has a secret, a public one cannot keep any. */
function checkClientType(application: DeclaredApplication, report: Report): void {
  const { type, secrets, grantTypes, authenticatedStart } = application;
  if (type === 'public') {
    if (authenticatedStart === 'required') {
      report(['authenticatedStart'], 'a public application cannot authenticate');
    }
    if (secrets.length > 0) report(['secrets'], 'a public application has no secret');
    if (grantTypes.includes('client_credentials')) {
      // RFC 6749 §4.4: the client credentials grant MUST only be used by confidential clients.
      report(
        ['grantTypes', grantTypes.indexOf('client_credentials')],
        'is for confidential applications only',
      );
    }
    return;
  }
  if (secrets.length === 0) report(['secrets'], 'a confidential application needs a secret');
  refuseRepeated(
    secrets.map((secret) => secret.value),
    (index) => report(['secrets', index], 'is listed twice'),
  );
}

function checkGrants(application: DeclaredApplication, report: Report): void {
  const { grantTypes, redirectUris, logoutRedirectUris, ciba } = application;
  refuseRepeated(grantTypes, (index) => report(['grantTypes', index], 'is listed twice'));
  refuseRepeated(redirectUris, (index) => report(['redirectUris', index], 'is listed twice'));
  refuseRepeated(logoutRedirectUris, (index) => report(['logoutRedirectUris', index], 'is listed twice'));
  if (grantTypes.includes('authorization_code') && redirectUris.length === 0) {
    report(['redirectUris'], 'the authorization_code grant needs a redirect URI');
  }
  if (application.pkce === 'optional' && application.type === 'public') {
    report(['pkce'], 'optional is for confidential applications only');
  }
  checkBackchannelLogout(application, report);
  if (ciba?.approval === 'webhook' && ciba.url === undefined) report(['ciba', 'url'], 'is required');
  if (ciba?.approval === 'page' && ciba.url !== undefined) report(['ciba', 'url'], 'is for webhooks only');
  checkDelivery(application, report);
}

/** OIDC Back-Channel Logout §2.2. Sessions are known of codes only. */
function checkBackchannelLogout(application: DeclaredApplication, report: Report): void {
  const { grantTypes, backchannelLogoutUri, backchannelLogoutSessionRequired } = application;
  if (backchannelLogoutUri !== undefined && !grantTypes.includes('authorization_code')) {
    report(['backchannelLogoutUri'], 'is for applications with the authorization_code grant');
  }
  if (backchannelLogoutSessionRequired && backchannelLogoutUri === undefined) {
    report(['backchannelLogoutSessionRequired'], 'needs backchannelLogoutUri');
  }
}

/** CIBA Core §4: an endpoint for clients of ping and push. What is pushed was asked for by a client that proved who it is. */
function checkDelivery({ type, ciba }: DeclaredApplication, report: Report): void {
  const { delivery = 'poll', notificationEndpoint } = ciba ?? {};
  const path = ['ciba', 'notificationEndpoint'];
  if (delivery === 'poll' && notificationEndpoint !== undefined) report(path, 'is for ping and push only');
  if (delivery !== 'poll' && notificationEndpoint === undefined) report(path, 'is required');
  if (delivery === 'push' && type === 'public') {
    report(['ciba', 'delivery'], 'push is for confidential applications only');
  }
}

/** OIDC Core §5.4. */
function checkIdTokenClaims({ idTokenClaims, scopes }: DeclaredApplication, report: Report): void {
  idTokenClaims.forEach((scope, index) => {
    if (!scopes.includes(scope)) report(['idTokenClaims', index], 'is not among the scopes');
  });
  refuseRepeated(idTokenClaims, (index) => report(['idTokenClaims', index], 'is listed twice'));
  if (idTokenClaims.length > 0 && !scopes.includes('openid'))
    report(['idTokenClaims'], 'needs the scope openid');
}

/** Each source once, so that the attributes of a user bound the size of its tokens. */
function checkClaims({ claims }: DeclaredApplication, report: Report): void {
  const entries = Object.entries(claims);
  for (const [name, mapping] of entries) {
    if ((mapping.attribute === undefined) === (mapping.roles === undefined)) {
      report(['claims', name], 'needs one source: attribute or roles');
    }
    refuseRepeated(mapping.targets, (index) => report(['claims', name, 'targets', index], 'is listed twice'));
  }
  refuseRepeated(
    entries.map(([, { attribute = '' }]) => attribute),
    (index) => report(['claims', entries[index]?.[0] ?? ''], 'has the source of another claim'),
  );
}

function checkReferences(application: DeclaredApplication, tenant: DeclaredTenant, report: Report): void {
  const { allowedRoles = [] } = application;
  const known = new Set(tenant.resources.flatMap(({ scopes }) => scopes.map(({ name }) => name)));
  application.scopes.forEach((scope, index) => {
    if (scope === introspectionScope && !application.grantTypes.includes('client_credentials')) {
      report(['scopes', index], 'is for applications with the client_credentials grant');
    }
    if (known.has(scope) || isBuiltIn(scope)) return;
    report(['scopes', index], 'is neither built in nor a scope of a resource of the tenant');
  });
  refuseRepeated(application.scopes, (index) => report(['scopes', index], 'is listed twice'));
  const audiences = new Set(tenant.resources.map((resource) => resource.audience));
  application.introspectAudiences.forEach((audience, index) => {
    if (!audiences.has(audience)) {
      report(['introspectAudiences', index], 'is not the audience of a resource of the tenant');
    }
  });
  refuseRepeated(application.introspectAudiences, (index) =>
    report(['introspectAudiences', index], 'is listed twice'),
  );
  allowedRoles.forEach((role, index) => {
    if (!tenant.roles.includes(role)) report(['allowedRoles', index], 'is not a role of the tenant');
  });
  refuseRepeated(allowedRoles, (index) => report(['allowedRoles', index], 'is listed twice'));
}

function isBuiltIn(scope: string): boolean {
  return builtInScopes.has(scope) || serviceScopes.has(scope);
}

function refuseRepeated(values: readonly string[], refuse: (index: number) => void): void {
  values.forEach((value, index) => {
    if (values.indexOf(value) < index) refuse(index);
  });
}
