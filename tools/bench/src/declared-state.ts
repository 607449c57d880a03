import { argon2Sync, createHmac } from 'node:crypto';

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
}

/** The population of the table. */
export const usualPopulation: Population = { tenants: 100, applications: 100, people: 100, active: 10 };

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
        signingAlgorithm: 'ES256',
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
