import type { RecordKind } from '@tessera/directory';

/** Claims of people: texts that name nothing of a tenant. */
const claims: Readonly<Record<string, string>> = {
  preferredUsername: 'claim preferred_username',
  givenName: 'claim given_name',
  familyName: 'claim family_name',
  middleName: 'claim middle_name',
  nickname: 'claim nickname',
  locale: 'claim locale, such as sv-SE',
  zoneinfo: 'claim zoneinfo, such as Europe/Stockholm',
  picture: 'claim picture, a web address',
  profile: 'claim profile, a web address',
  website: 'claim website, a web address',
  gender: 'claim gender',
  birthdate: 'claim birthdate: 1985-12-10, 0000-12-10 or 1985',
};

/**
 * What a field of a record is, in the words of libs/directory/README.md. Comments of the protos are not in what is
 * generated from them. A field that is something else for one kind has a row of its own.
 */
const byField: Readonly<Record<string, string>> = {
  name: 'what people read',
  status: 'active or disabled',
  'tenant.authenticationPolicy': 'what its sign-ins need: any, second-factor or phishing-resistant',
  'application.authenticationPolicy': 'what its sign-ins need: any, second-factor or phishing-resistant',

  issuer: 'its own issuer; without it, it is served at the shared one',
  endpoints: 'by what paths the endpoints of its issuer are found: standard or keycloak',
  passkeyDomain: 'whose host passkeys are for: own or shared',
  registration: 'who may make an account: closed, invitation, domain or open',
  registrationDomains: 'domains of e-mail addresses, such as acme.example',
  accountClosing: 'whether people may close their accounts',
  signInMethods: 'ways to sign in besides the usual ones: mail-code-second, mail-code',

  shared: 'whether other tenants of the issuer may declare the audience too',
  tokenType: 'typ of its access tokens: at+jwt or JWT',
  scopeFormat: 'scope of its access tokens: array or string',
  signingAlgorithm: 'alg of its access tokens: RS256 or ES256',
  'resource.roles': 'roles that its access tokens may have; without it all',
  assignableBy: 'who may give its scopes to applications: tenant, owner, or owners by name',

  type: 'public or confidential',
  grantTypes: 'authorization_code, refresh_token, client_credentials, device_code, ciba, jwt_bearer',
  redirectUris: 'where people return after the sign-in',
  redirectUriPrefixes: 'beginnings of redirect URIs, at a tenant with the paths of Keycloak',
  logoutRedirectUriPrefixes: 'beginnings of redirect URIs after a logout, at such a tenant',
  loopbackPorts: 'ports of redirect URIs on this machine: exact or any',
  logoutRedirectUris: 'where people return after the sign-out; the first one is the fallback',
  scopes: 'what it may ask for',
  defaultScopes: 'of its scopes those that it gets whatever it asks for',
  audiences: 'further audiences of its access tokens, in a tenant with endpoints: keycloak',
  introspectAudiences: 'audiences of the API resources that it answers for',
  authenticatedStart:
    'whether it authenticates to start a device or backchannel request: optional or required',
  allowedRoles: 'roles of which people need one to use it; without it everybody may',
  'application.roles': 'roles that its tokens may have; without it all',
  pkce: 'whether it needs a code challenge: required or optional',
  backchannelLogoutUri: 'https address that is told of ended sessions',
  backchannelLogoutSessionRequired: 'whether that address needs sid',
  idTokenClaims: 'scopes whose claims are in the ID token too: profile, email, phone, address',
  thirdParty: 'whether it asks people for their consent',
  jwksUri: 'https address of the public keys that it signs its assertions with',
  idTokenSigningAlgorithm: 'alg of its ID tokens and logout tokens: RS256 or ES256',
  owners: 'owners whose records its own access tokens may write; default: api',

  username: 'the name to sign in with',
  email: 'e-mail address',
  'user.name': 'full name',
  phoneNumber: 'phone number, such as +46701234567',
  'user.roles': 'roles of the tenant and of administrators, in the order of the token',
  'user.status': 'active, disabled or locked',
  emailVerified: 'whether the address is verified',
  phoneNumberVerified: 'whether the number is verified',
  ...claims,
  password: 'password',
  passwordHash: 'PHC string or bcrypt hash in place of a password',
};

/** The help text of the option for a field, by its name in JSON; empty for an unknown one. */
export function fieldHelp(kind: RecordKind, field: string): string {
  return byField[`${kind}.${field}`] ?? byField[field] ?? '';
}

/** Whether a field, by its name in JSON, is a claim of people. */
export function isClaim(field: string): boolean {
  return Object.hasOwn(claims, field);
}
