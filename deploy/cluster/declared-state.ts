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
