import { acrValues } from './token/authentication-class.ts';
import { grantTypes } from './grant-types.ts';
import { assertionAlgorithms } from './request/client-assertion.ts';
import { clientAuthenticationMethods } from './request/client-authentication.ts';
import { supportedPrompts } from './request/authorization-request.ts';
import { responseModes } from './request/redirect-response.ts';
import { builtInScopes } from './request/scopes.ts';
import { defaultSigningAlgorithm } from './signing-algorithms.ts';
import { userInfoClaimNames } from './token/user-claims.ts';

/** Paths of the public endpoints below the issuer. */
export const endpointPaths = {
  authorization: '/authorize',
  token: '/token',
  introspection: '/introspect',
  revocation: '/revoke',
  userinfo: '/userinfo',
  deviceAuthorization: '/device_authorization',
  backchannelAuthentication: '/backchannel_authentication',
  endSession: '/logout',
  jwks: '/.well-known/jwks.json',
  openidConfiguration: '/.well-known/openid-configuration',
  authorizationServerMetadata: '/.well-known/oauth-authorization-server',
} as const;

/** Where applications that were made for Keycloak look for endpoints, below an issuer. */
export const keycloakPaths = {
  authorization: '/protocol/openid-connect/auth',
  token: '/protocol/openid-connect/token',
  introspection: '/protocol/openid-connect/token/introspect',
  revocation: '/protocol/openid-connect/revoke',
  userinfo: '/protocol/openid-connect/userinfo',
  deviceAuthorization: '/protocol/openid-connect/auth/device',
  backchannelAuthentication: '/protocol/openid-connect/ext/ciba/auth',
  endSession: '/protocol/openid-connect/logout',
  jwks: '/protocol/openid-connect/certs',
} as const satisfies Partial<Record<Endpoint, string>>;

/** What `keycloak-js` asks in a frame before it begins: whether a frame of the server gets its cookies. */
export const keycloakCookieCheck = '/protocol/openid-connect/3p-cookies/step1.html';

/** Where the gateway answers what is asked at the address of an issuer itself, as realms of Keycloak do. */
export const keycloakRealm = '/protocol/openid-connect/realm';

/** Where the gateway answers scripts that ask for `/account` with an access token, as `keycloak-js` does. */
export const keycloakProfile = '/protocol/openid-connect/profile';

/** By what paths the endpoints of a tenant's own issuer are found: by ours alone, or also by those of Keycloak. */
export const endpointStyles = ['standard', 'keycloak'] as const;
export type EndpointStyle = (typeof endpointStyles)[number];

const pathsOfStyle: Readonly<Record<EndpointStyle, Readonly<Record<Endpoint, string>>>> = {
  standard: endpointPaths,
  keycloak: { ...endpointPaths, ...keycloakPaths },
};

/** Paths that the gateway serves besides the endpoints, and above those files. */
export const otherPaths = {
  backchannelDecision: '/backchannel_decision',
  forwardAuth: '/auth/verify',
  login: '/login',
  device: '/device',
  approvals: '/approvals',
  account: '/account',
  accountSignIn: '/account/sign-in',
  accountDevices: '/account/devices',
  accountApplications: '/account/applications',
  accountActivity: '/account/activity',
  accountProfile: '/account/profile',
  password: '/password',
  passwordLink: '/password/link',
  forgottenPassword: '/password/forgot',
  emailLink: '/email/link',
  providerAnswer: '/login/provider/:tenant/:provider',
  providerLogout: '/login/provider/:tenant/:provider/backchannel-logout',
  afterProvider: '/logout/provider',
  registration: '/register',
  assets: '/assets',
  relatedOrigins: '/.well-known/webauthn',
  readiness: '/readyz',
} as const;

const providerPath = '/login/provider';

const servedPaths: readonly string[] = [...Object.values(endpointPaths), ...Object.values(otherPaths)];

/** Most segments that the path of a tenant's issuer has. */
export const mostIssuerSegments = 4;

/**
 * Whether a path is served, or lies above or, for files, below one that is: an issuer that has it would hide it or be
 * hidden.
 */
export function collidesWithServedPath(path: string): boolean {
  return (
    servedPaths.some((served) => served === path || served.startsWith(`${path}/`)) ||
    [otherPaths.assets, providerPath].some((above) => path.startsWith(`${above}/`))
  );
}

export type Endpoint = keyof typeof endpointPaths;

/** Absolute URL of an endpoint, without a double slash for an issuer that ends with one. */
export function endpointUri(issuer: string, endpoint: Endpoint, style: EndpointStyle = 'standard'): string {
  return (issuer.endsWith('/') ? issuer.slice(0, -1) : issuer) + pathsOfStyle[style][endpoint];
}

/**
 * Where a tenant's provider answers. Each has an address of its own, so that no answer is taken for that of another
 * (RFC 9700 §4.4.2.2).
 */
export function providerAnswerUri(issuer: string, tenantId: string, provider: string): string {
  return `${issuer.replace(/\/$/, '')}${providerPath}/${tenantId}/${provider}`;
}

/** What is announced only because applications of an issuer declare it. */
export interface DeclaredUse {
  /** Besides RS256, of ID tokens. */
  readonly idTokenAlgorithms: readonly string[];
  /** Of `private_key_jwt` and `spiffe_jwt`. */
  readonly authenticationMethods: readonly string[];
  /** Short names. */
  readonly grantTypes: readonly string[];
}

export const declaresNothing: DeclaredUse = {
  idTokenAlgorithms: [],
  authenticationMethods: [],
  grantTypes: [],
};

/**
 * What the shared issuer announces, which no tenant changes for the others: in its complete document everything that it
 * serves, in the contract's what the contract says. Only an administrator of every tenant declares an algorithm there.
 */
export function announcedByShared(
  { idTokenAlgorithms }: DeclaredUse,
  document: 'complete' | 'contract',
): DeclaredUse {
  if (document === 'contract') return { ...declaresNothing, idTokenAlgorithms };
  const methods = clientAuthenticationMethods.filter((method) => 'declared' in method);
  return {
    idTokenAlgorithms,
    authenticationMethods: methods.map(({ name }) => name),
    grantTypes: grantTypes.filter(({ declared }) => declared !== undefined).map(({ name }) => name),
  };
}

/** What an issuer serves for its applications: without a declaration, what every issuer does. */
function servedBy({ idTokenAlgorithms, authenticationMethods, grantTypes: grants }: DeclaredUse) {
  const methods = clientAuthenticationMethods.filter(
    (method) => !('declared' in method) || authenticationMethods.includes(method.name),
  );
  const assertions = methods.some((method) => 'declared' in method);
  const algorithmsOf = (endpoint: string) =>
    assertions ? { [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: assertionAlgorithms } : {};
  return {
    methods: methods.map(({ name }) => name),
    provingMethods: methods.filter(({ proves }) => proves).map(({ name }) => name),
    grants: grantTypes.filter(({ name, declared }) => declared === undefined || grants.includes(name)),
    idTokenAlgorithms: [defaultSigningAlgorithm, ...idTokenAlgorithms],
    algorithmsOf,
  };
}

/** The contract's table, in its order and with its names and values. */
function contractFields(issuer: string, declared: DeclaredUse) {
  const { idTokenAlgorithms, provingMethods, grants } = servedBy(declared);
  return {
    issuer,
    jwks_uri: endpointUri(issuer, 'jwks'),
    authorization_endpoint: endpointUri(issuer, 'authorization'),
    token_endpoint: endpointUri(issuer, 'token'),
    introspect_endpoint: endpointUri(issuer, 'introspection'),
    revoke_token_endpoint: endpointUri(issuer, 'revocation'),
    userinfo_endpoint: endpointUri(issuer, 'userinfo'),
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: idTokenAlgorithms,
    token_endpoint_auth_methods_supported: provingMethods,
    grant_types_supported: grants.map(({ name }) => name),
    scopes_supported: ['openid', 'profile', 'email', 'phone', 'offline_access'],
  };
}

/** Registered fields of the endpoints that the contract keeps out of its document. */
const notListedByContract: ReadonlySet<string> = new Set([
  'device_authorization_endpoint',
  'backchannel_authentication_endpoint',
  'backchannel_token_delivery_modes_supported',
  'backchannel_user_code_parameter_supported',
  'end_session_endpoint',
  'backchannel_logout_supported',
  'backchannel_logout_session_supported',
]);

/** What the metadata say of the server besides its endpoints. */
export interface ServedFacts {
  /** The available token delivery modes of CIBA. */
  readonly deliveryModes: readonly string[];
  /** BCP 47 tags of the languages of the pages. */
  readonly uiLocales: readonly string[];
  /** Whose paths the endpoints have; default: ours. */
  readonly endpoints?: EndpointStyle;
  /** Default: nothing. */
  readonly declared?: DeclaredUse;
}

/**
 * The discovery document at `/.well-known/openid-configuration` (OIDC Discovery §3): the contract's fields first, then
 * every other registered field. The device, backchannel and logout endpoints are left out, as the contract asks.
 */
export function contractMetadata(issuer: string, served: ServedFacts): Readonly<Record<string, unknown>> {
  const fields = contractFields(issuer, served.declared ?? declaresNothing);
  const registered = Object.entries(authorizationServerMetadata(issuer, served));
  const others = registered.filter(
    ([name]) => !Object.hasOwn(fields, name) && !notListedByContract.has(name),
  );
  return { ...fields, ...Object.fromEntries(others) };
}

/**
 * The document at `/.well-known/oauth-authorization-server` (RFC 8414 §2), complete and under the registered names:
 * OIDC Discovery §3, RFC 8628 §4, RFC 9207 §3, CIBA Core §4, RP-Initiated Logout §2.1,
 * Back-Channel Logout §2.1.
 */
export function authorizationServerMetadata(
  issuer: string,
  { deliveryModes, uiLocales, endpoints = 'standard', declared = declaresNothing }: ServedFacts,
) {
  const { methods, provingMethods, grants, idTokenAlgorithms, algorithmsOf } = servedBy(declared);
  const uri = (endpoint: Endpoint) => endpointUri(issuer, endpoint, endpoints);
  return {
    issuer,
    authorization_endpoint: uri('authorization'),
    token_endpoint: uri('token'),
    jwks_uri: uri('jwks'),
    userinfo_endpoint: uri('userinfo'),
    introspection_endpoint: uri('introspection'),
    revocation_endpoint: uri('revocation'),
    device_authorization_endpoint: uri('deviceAuthorization'),
    backchannel_authentication_endpoint: uri('backchannelAuthentication'),
    end_session_endpoint: uri('endSession'),
    scopes_supported: [...builtInScopes],
    response_types_supported: ['code'],
    response_modes_supported: responseModes,
    grant_types_supported: grants.map(({ standard }) => standard),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: idTokenAlgorithms,
    token_endpoint_auth_methods_supported: methods,
    ...algorithmsOf('token'),
    introspection_endpoint_auth_methods_supported: provingMethods,
    ...algorithmsOf('introspection'),
    revocation_endpoint_auth_methods_supported: methods,
    ...algorithmsOf('revocation'),
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    claims_supported: claimsSupported,
    acr_values_supported: acrValues,
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    prompt_values_supported: supportedPrompts,
    ui_locales_supported: uiLocales,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    backchannel_token_delivery_modes_supported: deliveryModes,
    backchannel_user_code_parameter_supported: false,
  };
}

const claimsSupported = [
  'iss',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'at_hash',
  'sid',
  'acr',
  'amr',
  ...userInfoClaimNames,
];
