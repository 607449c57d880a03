/** The tenants that every end-to-end run starts with. */
import { tenantLikeKeycloak } from './declared-realm.ts';
import { decidedElsewhere, type DecidedElsewhere } from './decided-elsewhere.ts';
import {
  billingAudience,
  ordersAudience,
  parcelAudience,
  passwordHashes,
  people,
  redirectUri,
  secrets,
  shelfAudience,
  stockAudience,
} from './declared-names.ts';

export {
  billingAudience,
  ordersAudience,
  parcelAudience,
  people,
  redirectUri,
  secrets,
  shelfAudience,
  stockAudience,
};

export interface StateOptions extends DecidedElsewhere {
  readonly bobStatus?: 'active' | 'disabled' | 'locked';
  readonly bobPassword?: string;
  readonly adaRoles?: readonly string[];
  /** Of the tenant `acme`, besides its two. A file that no longer declares so many is refused. */
  readonly moreRoles?: readonly string[];
  /** The roles that the tokens of `acme-web`, and access tokens for the orders API, may name. */
  readonly webRoles?: readonly string[];
  readonly ordersRoles?: readonly string[];
  readonly serviceStatus?: 'active' | 'disabled';
  readonly webStatus?: 'active' | 'disabled';
  /** Where `acme-web` and `acme-spa` are notified of ended sessions. */
  readonly backchannelLogoutUri?: string;
  readonly globexStatus?: 'active' | 'disabled';
  /** A person needs one of these roles to use `acme-ledger`. */
  readonly ledgerRoles?: readonly string[];
  /** Issuer of a provider of the tenant `acme`, which makes accounts. */
  readonly providerIssuer?: string | undefined;
  /** Applications without a secret, each as an entry of the declared state. */
  readonly workloads?: readonly object[];
  /** Issuers of the tenants `initech` and `hooli`, which exist only with them. */
  readonly issuers?: { readonly initech: string; readonly hooli: string };
  /** Issuer of the tenant `harbour`, which exists only with it. */
  readonly realm?: string;
  /** By what paths their endpoints are found. */
  readonly ownEndpoints?: 'standard' | 'keycloak';
  /** Of the access tokens for their resources. */
  readonly ownAlgorithm?: 'RS256' | 'ES256';
}

/** As which the tenant `acme` is registered at its provider. */
export const providerClient = {
  clientId: 'acme',
  clientSecret: 'a secret of at least thirty-two characters',
};

function providersEntry(issuer: string | undefined): string {
  if (issuer === undefined) return '';
  const { clientId, clientSecret } = providerClient;
  return `    providers: [{ name: corp, issuer: "${issuer}", clientId: ${clientId}, clientSecret: "${clientSecret}", createsAccounts: true }]\n`;
}

/** The declared state as YAML, in the shape of the configuration reference. */
export function declaredState(options: StateOptions = {}): string {
  const roles = (options.adaRoles ?? ['clerk']).join(', ');
  const allRoles = [...new Set(['clerk', 'manager', ...(options.moreRoles ?? [])])].join(', ');
  const rolesEntry = (listed: readonly string[] | undefined) =>
    listed === undefined ? '' : `        roles: [${listed.join(', ')}]\n`;
  const { backchannelLogoutUri } = options;
  const logoutEntry =
    backchannelLogoutUri === undefined ? '' : `        backchannelLogoutUri: "${backchannelLogoutUri}"\n`;
  return `
tenants:
  - id: acme
    name: Acme
    registration: open
    signInMethods: [mail-code]
    resources:
      - audience: ${ordersAudience}
        name: Orders API
        scopes: [orders.read, orders.write]
${rolesEntry(options.ordersRoles)}      - audience: ${billingAudience}
        name: Billing API
        scopes: [billing.read]
      - audience: ${stockAudience}
        name: Acme Stock API
        scopes: [stock.count]
        scopeFormat: string
      - audience: ${shelfAudience}
        name: Acme Shelf API
        scopes: [shelf.count]
        tokenType: JWT
        scopeFormat: string
      - audience: ${parcelAudience}
        name: Acme Parcel API
        scopes: [parcels.read]
        scopeFormat: string
        signingAlgorithm: ES256
    roles: [${allRoles}]
${providersEntry(options.providerIssuer)}    users:
      - username: ada
        email: ${people.ada.email}
        name: ${people.ada.name}
        phoneNumber: "+46701234567"
        roles: [${roles}]
        passwordHash: ${passwordHashes.ada}
      - username: bob
        email: ${people.bob.email}
        name: ${people.bob.name}
        roles: []
        status: ${options.bobStatus ?? 'active'}
        password: ${options.bobPassword ?? people.bob.password}
      - username: cleo
        email: ${people.cleo.email}
        name: ${people.cleo.name}
        roles: [clerk, manager]
        passwordHash: ${passwordHashes.cleo}
        preferredUsername: cleo
        givenName: Cleo
        emailVerified: true
        locale: el-EG
        zoneinfo: Africa/Cairo
        address: {locality: Alexandria, postalCode: "21500"}
        attributes: {department: Navy, teams: [nile, delta]}
    applications:
      - clientId: acme-web
        name: Acme Web
        type: confidential
        status: ${options.webStatus ?? 'active'}
        secrets: [{value: "${secrets.web}"}]
        grantTypes: [authorization_code, refresh_token, client_credentials]
        redirectUris: ["${redirectUri}", "${redirectUri}?fixed=1"]
        logoutRedirectUris: ["http://127.0.0.1:9000/bye", "http://127.0.0.1:9000/bye?a=1#done"]
        scopes: [openid, profile, email, phone, offline_access, orders.read, orders.write]
${rolesEntry(options.webRoles)}${logoutEntry}      - clientId: acme-spa
        name: Acme Single Page
        type: public
        grantTypes: [authorization_code, refresh_token]
        redirectUris: ["${redirectUri}"]
        scopes: [openid, profile, email, phone, offline_access, orders.read]
${logoutEntry}      - clientId: acme-service
        name: Acme Service
        type: confidential
        status: ${options.serviceStatus ?? 'active'}
        secrets: [{value: "${secrets.service}"}]
        grantTypes: [client_credentials]
        scopes: [orders.read, orders.write, billing.read]
      - clientId: acme-other
        name: Acme Other
        type: confidential
        secrets: [{value: "${secrets.other}"}]
        grantTypes: [authorization_code, refresh_token]
        redirectUris: ["${redirectUri}"]
        scopes: [openid, offline_access, billing.read]
        pkce: optional
      - clientId: acme-reports
        name: Acme Reports
        type: confidential
        secrets: [{value: "${secrets.reports}"}]
        grantTypes: [client_credentials]
        scopes: [billing.read]
        introspectAudiences: ["${ordersAudience}"]
      - clientId: acme-admin
        name: Acme Administration
        type: confidential
        secrets: [{value: "${secrets.admin}"}]
        grantTypes: [client_credentials]
        scopes: [admin.users.read, admin.users.write]
      - clientId: acme-ledger
        name: Acme Ledger, which is for some roles
        type: confidential
        secrets: [{value: "${secrets.ledger}"}]
        grantTypes: [authorization_code, refresh_token, client_credentials, device_code, ciba]
        redirectUris: ["${redirectUri}"]
        scopes: [openid, profile, offline_access, orders.read]
        ciba: {approval: page}
        allowedRoles: [${(options.ledgerRoles ?? ['clerk']).join(', ')}]
      - clientId: acme-native
        name: Acme Native, which listens on a free port
        type: public
        grantTypes: [authorization_code, refresh_token]
        redirectUris: ["http://127.0.0.1/oauth/callback"]
        loopbackPorts: any
        scopes: [openid, offline_access, orders.read]
${(options.workloads ?? [])
  .map(
    (one) => `      - ${JSON.stringify(one)}
`,
  )
  .join('')}      - clientId: acme-parcels
        name: Acme Parcels
        type: confidential
        secrets: [{value: "${secrets.parcels}"}]
        grantTypes: [client_credentials]
        scopes: [parcels.read]
      - clientId: acme-people
        name: Acme People, which reads claims
        type: public
        grantTypes: [authorization_code, refresh_token]
        redirectUris: ["${redirectUri}"]
        scopes: [openid, profile, email, phone, address, offline_access, stock.count, shelf.count, parcels.read]
        claims:
          groups: {roles: true, targets: [idToken, accessToken]}
          department: {attribute: department, targets: [idToken, userinfo]}
          teams: {attribute: teams, targets: [accessToken]}
        idTokenClaims: [profile, email]
${decidedElsewhere(options)}
  - id: globex
    name: Globex
    status: ${options.globexStatus ?? 'active'}
    resources:
      - audience: https://stock.globex.example
        name: Stock API
        scopes: [stock.read]
    roles: []
    users:
      - username: eve
        email: ${people.eve.email}
        name: ${people.eve.name}
        roles: []
        passwordHash: ${passwordHashes.eve}
    applications:
      - clientId: globex-web
        name: Globex Web
        type: confidential
        secrets: [{value: "${secrets.globex}"}]
        grantTypes: [authorization_code, refresh_token]
        redirectUris: ["${redirectUri}"]
        logoutRedirectUris: []
        scopes: [openid, profile, offline_access, stock.read]
${Object.entries(options.issuers ?? {})
  .map(([id, issuer]) => tenantWithIssuer(id, issuer, options))
  .join('')}${tenantLikeKeycloak(options.realm)}`;
}

/** Both tenants have people, applications and an audience alike. */
function tenantWithIssuer(
  id: string,
  issuer: string,
  { ownAlgorithm = 'RS256', ownEndpoints = 'standard' }: StateOptions,
): string {
  return `
  - id: ${id}
    name: ${id}
    issuer: ${issuer}
    endpoints: ${ownEndpoints}
    resources:
      - audience: https://api.own.example
        name: API
        scopes: [things.read]
        signingAlgorithm: ${ownAlgorithm}
    users:
      - username: gus
        email: gus@${id}.example
        name: Gus
        passwordHash: ${passwordHashes.gus}
    applications:
      - clientId: ${id}-web
        name: Web
        type: confidential
        secrets: [{value: "${secrets.own}"}]
        grantTypes: [authorization_code, refresh_token, client_credentials]
        redirectUris: ["${redirectUri}"]
        logoutRedirectUris: ["${redirectUri}"]
        scopes: [openid, profile, offline_access, things.read]
      - clientId: ${id}-tv
        name: TV
        type: public
        grantTypes: [device_code]
        scopes: [openid, things.read]
`;
}
