import type { Login } from '@tessera/test-client';

/** The tenants of a run: two alike, so that a mix-up between them is seen. */

export const tenants = ['north', 'south'] as const;
export type Tenant = (typeof tenants)[number];

export const persons = ['ada', 'bob', 'cleo', 'dan'] as const;
/** Is disabled during the run. */
export const leaver = 'lea';

export const redirectUri = 'http://127.0.0.1:9000/callback';
export const goodbyeUri = 'http://127.0.0.1:9000/bye';

export const passwordOf = (tenant: string, person: string): string =>
  `${person}-of-${tenant}-knows-this-1843`;

export const loginOf = (tenant: string, username: string): Login => ({
  tenant,
  username,
  password: passwordOf(tenant, username),
});

const confidential = ['web', 'service', 'desk'];

/** Undefined for a public client. */
export const secretOf = (clientId: string): string | undefined =>
  confidential.some((name) => clientId.endsWith(`-${name}`))
    ? `${clientId}-secret-0123456789-0123456789-abcdef`
    : undefined;

/** Every password and secret of the state, to search the output for. */
export const chosenSecrets = (): string[] =>
  tenants.flatMap((tenant) => [
    ...[...persons, leaver].map((person) => passwordOf(tenant, person)),
    ...confidential.map((name) => secretOf(`${tenant}-${name}`) ?? ''),
  ]);

export interface StateOptions {
  readonly leaverStatus: 'active' | 'disabled';
  /** Where requests for approval are announced. */
  readonly webhookUrl: string;
}

export function declaredState(options: StateOptions): string {
  return `tenants:\n${tenants.map((tenant) => tenantState(tenant, options)).join('')}`;
}

function tenantState(tenant: string, { leaverStatus, webhookUrl }: StateOptions): string {
  const users = [...persons, leaver].map(
    (person) => `
      - username: ${person}
        email: ${person}@${tenant}.example
        name: ${person} of ${tenant}
        status: ${person === leaver ? leaverStatus : 'active'}
        password: ${passwordOf(tenant, person)}`,
  );
  const secret = (name: string): string =>
    `type: confidential\n        secrets: [{value: "${secretOf(`${tenant}-${name}`)}"}]`;
  return `
  - id: ${tenant}
    name: ${tenant}
    resources:
      - audience: https://api.${tenant}.example
        name: API
        scopes: [${tenant}.read]
    users:${users.join('')}
    applications:
      - clientId: ${tenant}-web
        name: Web
        ${secret('web')}
        grantTypes: [authorization_code, refresh_token]
        redirectUris: ["${redirectUri}"]
        logoutRedirectUris: ["${goodbyeUri}"]
        scopes: [openid, profile, offline_access, ${tenant}.read]
      - clientId: ${tenant}-spa
        name: Single page
        type: public
        grantTypes: [authorization_code, refresh_token]
        redirectUris: ["${redirectUri}"]
        logoutRedirectUris: ["${goodbyeUri}"]
        scopes: [openid, profile, offline_access, ${tenant}.read]
      - clientId: ${tenant}-service
        name: Service
        ${secret('service')}
        grantTypes: [client_credentials]
        scopes: [${tenant}.read]
      - clientId: ${tenant}-tv
        name: TV
        type: public
        grantTypes: [device_code, refresh_token]
        scopes: [openid, offline_access, ${tenant}.read]
      - clientId: ${tenant}-desk
        name: Desk
        ${secret('desk')}
        grantTypes: [ciba, refresh_token]
        scopes: [openid, offline_access, ${tenant}.read]
        ciba: {approval: webhook, url: "${webhookUrl}"}
`;
}
