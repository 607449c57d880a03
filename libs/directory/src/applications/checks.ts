import {
  adminScopes,
  audienceOfEntry,
  introspectionScope,
  isBuiltIn,
  isLoopbackRedirect,
  weakestPolicy,
  claimPathsProblem,
} from '@tessera/oauth';
import { isBuiltInScope, refuseRepeated, type Report } from '../fields/field-checks.ts';
import { checkRoles } from '../resources/checks.ts';
import type { DeclaredApplication } from './fields.ts';
import { checkTrusts } from './trusts.ts';

type Checked = Omit<DeclaredApplication, 'secrets'>;

/** What an application of a tenant may refer to. */
interface Surroundings {
  /** By what paths the endpoints of the tenant are found. */
  readonly endpoints: string;
  readonly resources: readonly {
    readonly audience: string;
    readonly scopes: readonly { readonly name: string }[];
    readonly roles: readonly string[];
  }[];
  readonly roles: readonly string[];
}

/** The rules of an application that involve more than one key, but for its secrets. */
export function checkApplication(application: Checked, surroundings: Surroundings, report: Report): void {
  checkClientType(application, report);
  checkGrants(application, report);
  checkClaims(application, report);
  checkIdTokenClaims(application, report);
  checkDefaultScopes(application, surroundings, report);
  checkAudiences(application, surroundings, report);
  checkReferences(application, surroundings, report);
  checkTrusts(application, report);
}

function checkClientType(application: Checked, report: Report): void {
  const { type, grantTypes, authenticatedStart } = application;
  if (type !== 'public') return;
  if (authenticatedStart === 'required') {
    report(['authenticatedStart'], 'a public application cannot authenticate');
  }
  if (grantTypes.includes('client_credentials')) {
    // RFC 6749 §4.4: the client credentials grant MUST only be used by confidential clients.
    report(['grantTypes', grantTypes.indexOf('client_credentials')], 'is for confidential applications only');
  }
  if (grantTypes.includes('jwt_bearer'))
    report(['grantTypes', grantTypes.indexOf('jwt_bearer')], 'is for confidential applications only');
}

/** RFC 6749 §2.1: a public client cannot keep a secret. Whether a confidential one has any, applying finds out. */
export function checkSecrets({ type, secrets }: DeclaredApplication, report: Report): void {
  if (type === 'public' && secrets.length > 0) report(['secrets'], 'a public application has no secret');
  refuseRepeated(
    secrets.map((secret) => secret.value),
    (index) => report(['secrets', index], 'is listed twice'),
  );
}

function checkGrants(application: Checked, report: Report): void {
  const { grantTypes, redirectUris, redirectUriPrefixes, logoutRedirectUris } = application;
  const { ciba, authenticationPolicy, owners } = application;
  refuseRepeated(grantTypes, (index) => report(['grantTypes', index], 'is listed twice'));
  refuseRepeated(owners, (index) => report(['owners', index], 'is listed twice'));
  refuseRepeated(redirectUris, (index) => report(['redirectUris', index], 'is listed twice'));
  refuseRepeated(logoutRedirectUris, (index) => report(['logoutRedirectUris', index], 'is listed twice'));
  refuseRepeated(redirectUriPrefixes, (index) => report(['redirectUriPrefixes', index], 'is listed twice'));
  refuseRepeated(application.logoutRedirectUriPrefixes, (index) =>
    report(['logoutRedirectUriPrefixes', index], 'is listed twice'),
  );
  if (grantTypes.includes('authorization_code') && redirectUris.length + redirectUriPrefixes.length === 0) {
    report(['redirectUris'], 'the authorization_code grant needs a redirect URI');
  }
  if (application.pkce === 'optional' && application.type === 'public') {
    report(['pkce'], 'optional is for confidential applications only');
  }
  if (application.pkce === 'optional' && redirectUriPrefixes.length > 0) {
    report(['pkce'], 'must be required with redirectUriPrefixes');
  }
  if (application.loopbackPorts === 'any' && !redirectUris.some(isLoopbackRedirect)) {
    report(['loopbackPorts'], 'any needs a redirect URI with http on 127.0.0.1, [::1] or localhost');
  }
  checkBackchannelLogout(application, report);
  if (ciba.approval === 'webhook' && ciba.url === '') report(['ciba', 'url'], 'is required');
  if (ciba.approval === 'webhook' && authenticationPolicy !== weakestPolicy)
    report(['authenticationPolicy'], 'must be any where a webhook approves: nobody signs in there');
  if (ciba.approval === 'page' && ciba.url !== '') report(['ciba', 'url'], 'is for webhooks only');
  checkDelivery(application, report);
}

/** OIDC Back-Channel Logout §2.2. Sessions are known of codes only. */
function checkBackchannelLogout(application: Checked, report: Report): void {
  const { grantTypes, backchannelLogoutUri, backchannelLogoutSessionRequired } = application;
  if (backchannelLogoutUri !== '' && !grantTypes.includes('authorization_code')) {
    report(['backchannelLogoutUri'], 'is for applications with the authorization_code grant');
  }
  if (backchannelLogoutSessionRequired && backchannelLogoutUri === '') {
    report(['backchannelLogoutSessionRequired'], 'needs backchannelLogoutUri');
  }
}

/** CIBA Core §4: an endpoint for clients that are pinged. */
function checkDelivery({ ciba }: Checked, report: Report): void {
  const { delivery, notificationEndpoint } = ciba;
  const path = ['ciba', 'notificationEndpoint'];
  if (delivery === 'poll' && notificationEndpoint !== '') report(path, 'is for ping only');
  if (delivery !== 'poll' && notificationEndpoint === '') report(path, 'is required');
}

/** OIDC Core §5.4. */
function checkIdTokenClaims({ idTokenClaims, scopes }: Checked, report: Report): void {
  idTokenClaims.forEach((scope, index) => {
    if (!scopes.includes(scope)) report(['idTokenClaims', index], 'is not among the scopes');
  });
  refuseRepeated(idTokenClaims, (index) => report(['idTokenClaims', index], 'is listed twice'));
  if (idTokenClaims.length > 0 && !scopes.includes('openid'))
    report(['idTokenClaims'], 'needs the scope openid');
}

/** What gives a power over this server, and refresh tokens, are for who asks for them. */
function checkDefaultScopes(
  { defaultScopes, scopes }: Checked,
  { endpoints, resources }: Surroundings,
  report: Report,
): void {
  defaultScopes.forEach((scope, index) => {
    if (!scopes.includes(scope)) report(['defaultScopes', index], 'is not among the scopes');
    if (scope === 'offline_access' || isBuiltIn.scope(scope))
      report(['defaultScopes', index], 'is given only to who asks for it');
  });
  refuseRepeated(defaultScopes, (index) => report(['defaultScopes', index], 'is listed twice'));
  const ofThem = resources.filter((resource) =>
    resource.scopes.some(({ name }) => defaultScopes.includes(name)),
  );
  if (ofThem.length > 1 && endpoints !== 'keycloak')
    report(['defaultScopes'], 'belong to several resources, of which a token has one');
}

/** Of audiences of a token each can use it at the others, so they are for applications that were made for that. */
function checkAudiences(
  { audiences, scopes }: Checked,
  { endpoints, resources }: Surroundings,
  report: Report,
): void {
  if (audiences.length > 0 && endpoints !== 'keycloak')
    report(['audiences'], 'is for applications of a tenant with endpoints: keycloak');
  refuseRepeated(audiences, (index) => report(['audiences', index], 'is listed twice'));
  audiences.forEach((audience, index) => {
    const named = audienceOfEntry(audience);
    const limiting = resources.find((resource) => resource.audience === named && resource.roles.length > 0);
    if (limiting !== undefined && !limiting.scopes.some(({ name }) => scopes.includes(name)))
      report(['audiences', index], 'is a resource that limits roles, of which the application needs a scope');
  });
}

const ofTheOtherSource = {
  rolePrefix: 'is for roles',
  type: 'is for attributes',
  list: 'is for attributes: roles are a list',
};

/** So that what a user has bounds the size of its tokens: of clients of another server each may want its own roles. */
const mostOfSource = { attribute: 2, roles: 10 };

function checkClaims({ claims }: Checked, report: Report): void {
  const entries = Object.entries(claims);
  for (const [name, mapping] of entries) {
    if ((mapping.attribute === undefined) === (mapping.roles === undefined)) {
      report(['claims', name], 'needs one source: attribute or roles');
    }
    refuseRepeated(mapping.targets, (index) => report(['claims', name, 'targets', index], 'is listed twice'));
    for (const key of mapping.roles === undefined ? (['rolePrefix'] as const) : (['type', 'list'] as const))
      if (mapping[key] !== undefined) report(['claims', name, key], ofTheOtherSource[key]);
  }
  const sources = entries.map(([, { attribute }]) => attribute);
  const paths = entries.map(([name, { path = [name] }]) => path);
  for (const [at, [name]] of entries.entries()) {
    const most = mostOfSource[sources[at] === undefined ? 'roles' : 'attribute'];
    if (sources.slice(0, at).filter((source) => source === sources[at]).length >= most)
      report(['claims', name], `is one of more than ${most} claims of its source`);
    const earlier = paths.slice(0, at).map((other) => claimPathsProblem(paths[at] ?? [], other));
    const problem = earlier.find((each) => each !== undefined);
    if (problem !== undefined) report(['claims', name], problem);
  }
}

function checkReferences(application: Checked, { resources, roles }: Surroundings, report: Report): void {
  const known = new Set(resources.flatMap(({ scopes }) => scopes.map(({ name }) => name)));
  application.scopes.forEach((scope, index) => {
    if (scope === introspectionScope && !application.grantTypes.includes('client_credentials')) {
      report(['scopes', index], 'is for applications with the client_credentials grant');
    }
    if (known.has(scope) || isBuiltInScope(scope) || adminScopes.has(scope)) return;
    report(['scopes', index], 'is neither built in nor a scope of a resource of the tenant');
  });
  refuseRepeated(application.scopes, (index) => report(['scopes', index], 'is listed twice'));
  const audiences = new Set(resources.map((resource) => resource.audience));
  application.introspectAudiences.forEach((audience, index) => {
    if (!audiences.has(audience)) {
      report(['introspectAudiences', index], 'is not the audience of a resource of the tenant');
    }
  });
  refuseRepeated(application.introspectAudiences, (index) =>
    report(['introspectAudiences', index], 'is listed twice'),
  );
  for (const key of ['allowedRoles', 'roles'] as const) {
    checkRoles(application[key], roles, (path, message) => report([key, ...path], message));
  }
}
