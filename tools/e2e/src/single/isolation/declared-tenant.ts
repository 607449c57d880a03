import { redirectUri } from '../../harness/declared-state.ts';
import type { Names } from './names.ts';

const passwordHash =
  '$argon2id$v=19$m=19456,t=2,p=1$nnZMtLeOKcUteTVu15WqmA$mqUrACtRtCtnSGHaM+E0AFLY3xNVYpkXZLG+gMRBWXI';

/** A tenant with one of everything, as YAML. */
export function declaredTenant(names: Names): string {
  const { id, issuer, web, partner, tv, desk, secret, username, audience, provider, providerIssuer } = names;
  return `
  - id: ${id}
    name: Tenant
    issuer: ${issuer}
    registration: open
    accountClosing: true
    signInMethods: [mail-code]
    roles: [${id}-clerk]
    resources: [{audience: "${audience}", name: API, scopes: [${id}.read]}]
    providers: [{name: ${provider}, issuer: "${providerIssuer}", clientId: ${web}, clientSecret: "${secret}", createsAccounts: true}]
    users: [{username: ${username}, email: gus@${id}.example, name: Gus, roles: [${id}-clerk], passwordHash: "${passwordHash}"}]
    applications:
      - clientId: ${web}
        name: Web
        type: confidential
        secrets: [{value: "${secret}"}]
        grantTypes: [authorization_code, refresh_token, client_credentials]
        redirectUris: ["${redirectUri}"]
        logoutRedirectUris: ["${redirectUri}"]
        scopes: [openid, profile, offline_access, ${id}.read]
      - {clientId: ${partner}, name: Partner, type: public, grantTypes: [authorization_code], redirectUris: ["${redirectUri}"], scopes: [openid], thirdParty: true}
      - {clientId: ${tv}, name: TV, type: public, grantTypes: [device_code], scopes: [openid]}
      - clientId: ${desk}
        name: Desk
        type: confidential
        secrets: [{value: "${secret}"}]
        grantTypes: [ciba]
        scopes: [openid]
        ciba: {approval: page}
`;
}
