/** The Host of every request; the issuer is not resolved by name. */
export const host = 'id.example.test';

/** What `load-script.ts` uses. Secrets are keys of the Secret `clients`. */
export const tenantsWith = (workerSecrets: readonly string[]) => [
  {
    id: 'acme',
    name: 'Acme',
    resources: [
      {
        audience: 'https://orders.acme.example',
        name: 'Orders',
        scopes: [{ name: 'orders.read', description: 'See orders' }],
      },
    ],
    users: [{ username: 'ada', email: 'ada@acme.example', name: 'Ada', passwordFromFile: 'ada-password' }],
    applications: [
      {
        clientId: 'worker',
        name: 'Worker',
        type: 'confidential',
        secrets: workerSecrets.map((fromFile) => ({ fromFile })),
        grantTypes: ['client_credentials'],
        scopes: ['orders.read'],
      },
      {
        clientId: 'orders',
        name: 'Orders API',
        type: 'confidential',
        secrets: [{ fromFile: 'orders-secret' }],
        grantTypes: ['client_credentials'],
        scopes: ['orders.read'],
        introspectAudiences: ['https://orders.acme.example'],
      },
      {
        clientId: 'web',
        name: 'Web',
        type: 'public',
        grantTypes: ['authorization_code', 'refresh_token'],
        redirectUris: ['https://app.example.com/callback'],
        scopes: ['openid', 'offline_access', 'orders.read'],
      },
    ],
  },
];

/** Issuers that tenants have of their own: a path of the shared host, and a host. */
export const tenantIssuers = { beta: `https://${host}/t/beta`, gamma: 'https://login.gamma.test' } as const;

/** Their tenants, each with the application `<tenant>-worker`, whose secret is that of the shared issuer's worker. */
export const tenantsWithIssuers = Object.entries(tenantIssuers).map(([id, issuer]) => ({
  id,
  name: id,
  issuer,
  resources: [
    {
      audience: `https://api.${id}.example`,
      name: 'API',
      scopes: [{ name: `${id}.read`, description: 'See what is there' }],
    },
  ],
  applications: [
    {
      clientId: `${id}-worker`,
      name: 'Worker',
      type: 'confidential',
      secrets: [{ fromFile: 'worker-secret' }],
      grantTypes: ['client_credentials'],
      scopes: [`${id}.read`],
    },
  ],
}));
