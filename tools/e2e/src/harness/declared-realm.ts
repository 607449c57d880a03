import { passwordHashes, redirectUri, secrets } from './declared-names.ts';

export const realmResources = ['https://orders.harbour.example', 'https://mail.harbour.example'] as const;

/** The tenant `harbour`, with the paths and the tokens of Keycloak, as a part of a declared state. */
export function tenantLikeKeycloak(issuer: string | undefined): string {
  if (issuer === undefined) return '';
  const [orders, mail] = realmResources;
  return `
  - id: harbour
    name: Harbour
    issuer: ${issuer}
    endpoints: keycloak
    resources:
      - {audience: "${orders}", name: Orders, scopes: [orders.read]}
      - {audience: "${mail}", name: Mail, scopes: [mail.read]}
    roles: [sailor]
    users:
      - username: gus
        email: gus@harbour.example
        emailVerified: true
        name: Gus Berg
        givenName: Gus
        familyName: Berg
        roles: [sailor]
        passwordHash: ${passwordHashes.gus}
    applications:
      - clientId: harbour-web
        name: Web
        type: confidential
        secrets: [{value: "${secrets.own}"}]
        grantTypes: [authorization_code, refresh_token, client_credentials]
        redirectUris: ["${redirectUri}"]
        logoutRedirectUris: ["${redirectUri}"]
        scopes: [openid, profile, email, offline_access, orders.read, mail.read]
        defaultScopes: [profile, email, orders.read, mail.read]
        audiences: [harbour-web, account]
        claims:
          realm_access.roles: {roles: true, path: [realm_access, roles], targets: [accessToken]}
`;
}
