import { argon2Sync, createECDH, createHmac, createPrivateKey, sign, type KeyObject } from 'node:crypto';

/** Who is declared. */
export interface Population {
  readonly tenants: number;
  /** Per tenant, like the next. */
  readonly applications: number;
  readonly people: number;
  /** How many of each tenant's applications take part in the load. */
  readonly active: number;
  /** Whether each tenant has an issuer of its own, below `sharedIssuer`. */
  readonly ownIssuers?: boolean;
  /** Whether it has what earlier versions do not know: trusts in `workloadIssuer`, and access tokens with ES256. */
  readonly recent?: boolean;
}

/** The population of the table. */
export const usualPopulation: Population = {
  tenants: 100,
  applications: 100,
  people: 100,
  active: 10,
  recent: true,
};

/**
 * Of systems whose tenants have issuers of their own: paths below it are found at the hosts of `TESSERA_ALLOWED_HOSTS`
 * too.
 */
export const sharedIssuer = 'http://localhost:8080';

export const redirectUri = 'https://client.example/callback';
/** A public client of the peer alone: introspection is cheapest for it. */
export const publicClientId = 'bench-public';
/** What people grant: the peer's access tokens are opaque without a scope of an API, and JWTs with one. */
export const profileScope = 'openid profile email offline_access';
export const personScope = `${profileScope} orders.read`;

export interface Client {
  readonly tenant: number;
  readonly clientId: string;
  readonly clientSecret: string;
}

export const tenantId = (tenant: number): string => `tenant-${tenant}`;
/** The path with which the addresses of a tenant begin. */
export const basePath = ({ ownIssuers }: Population, tenant: number): string =>
  ownIssuers === true ? `/t/${tenantId(tenant)}` : '';

export const username = (tenant: number, person: number): string => `person-${tenant}-${person}`;
export const passwordOf = (seed: string): string => derive(seed, 'password');

export function clientOf(seed: string, tenant: number, index: number): Client {
  const clientId = `app-${tenant}-${index}`;
  return { tenant, clientId, clientSecret: derive(seed, clientId) };
}

/** Whose tokens prove to be an application: an issuer that nothing is asked of, as its keys are in a file. */
export const workloadIssuer = 'https://cluster.example';

const trustOf = (clientId: string) => ({
  issuer: workloadIssuer,
  subject: `system:serviceaccount:bench:${clientId}`,
});

/** A key of that issuer; its public part is a JWK Set. */
export function workloadKey(seed: string): {
  readonly privateKey: KeyObject;
  readonly keys: readonly object[];
} {
  const scalar = createHmac('sha256', seed).update('workload').digest();
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(scalar);
  const point = curve.getPublicKey();
  const [x = '', y = ''] = [point.subarray(1, 33), point.subarray(33)].map((part) =>
    part.toString('base64url'),
  );
  const jwk = { kty: 'EC', crv: 'P-256', x, y };
  const privateKey = createPrivateKey({ key: { ...jwk, d: scalar.toString('base64url') }, format: 'jwk' });
  return { privateKey, keys: [{ ...jwk, kid: 'bench', alg: 'ES256', use: 'sig' }] };
}

/** A token of that issuer for an application, good for an hour. */
export function workloadToken(seed: string, { clientId }: Client, audience: string): string {
  const now = Math.floor(Date.now() / 1000);
  const { issuer, subject } = trustOf(clientId);
  const claims = { iss: issuer, sub: subject, aud: audience, iat: now, exp: now + 3_600 };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'ES256', kid: 'bench' })}.${part(claims)}`;
  const key = { key: workloadKey(seed).privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

/** The applications that take part; neighbours in the list belong to different tenants. */
export function activeClients({
  seed,
  population: { tenants, active },
}: {
  readonly seed: string;
  readonly population: Population;
}): Client[] {
  return Array.from({ length: tenants * active }, (_, position) =>
    clientOf(seed, position % tenants, Math.floor(position / tenants)),
  );
}

/** All people share one password and hash: ten thousand separate hashes would take minutes. */
function passwordHash(seed: string): string {
  const salt = Buffer.from(derive(seed, 'salt')).subarray(0, 16);
  const work = { nonce: salt, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
  const tag = argon2Sync('argon2id', { message: passwordOf(seed), ...work });
  const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
  return `$argon2id$v=19$m=19456,t=2,p=1$${base64(salt)}$${base64(tag)}`;
}

/** The declared state of one tenant; the others are copies of the first. JSON is YAML. */
export function declaredState(seed: string, population: Population, number = 0): string {
  const hash = passwordHash(seed);
  const times = <T>(length: number, make: (index: number) => T): T[] =>
    Array.from({ length }, (_, index) => make(index));
  const id = tenantId(number);
  const [orders, parcels] = [['orders.read', 'orders.write'], ['parcels.read']];
  const tenant = {
    id,
    name: 'Tenant',
    ...(population.ownIssuers === true && { issuer: sharedIssuer + basePath(population, number) }),
    resources: [
      { audience: `https://orders.${id}.example`, name: 'Orders', scopes: orders },
      {
        audience: `https://parcels.${id}.example`,
        name: 'Parcels',
        scopes: parcels,
        ...(population.recent === true && { signingAlgorithm: 'ES256' }),
      },
    ],
    roles: ['clerk'],
    users: times(population.people, (person) => ({
      username: username(number, person),
      email: `${username(number, person)}@${id}.example`,
      name: `Person ${person}`,
      roles: ['clerk'],
      passwordHash: hash,
    })),
    applications: times(population.applications, (index) => {
      const { clientId, clientSecret } = clientOf(seed, number, index);
      return {
        clientId,
        name: `Application ${index}`,
        type: 'confidential',
        secrets: [{ value: clientSecret }],
        ...(population.recent === true && index < population.active && { trusts: [trustOf(clientId)] }),
        grantTypes: ['authorization_code', 'refresh_token', 'client_credentials', 'device_code'],
        redirectUris: [redirectUri],
        scopes: ['openid', 'profile', 'email', 'offline_access', ...orders, ...parcels],
      };
    }),
  };
  return JSON.stringify({ tenants: [tenant] });
}

function derive(seed: string, name: string): string {
  return createHmac('sha256', seed).update(name).digest('base64url');
}
