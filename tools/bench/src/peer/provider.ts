import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';
import { personScope, publicClientId, redirectUri, type Client } from '../declared-state.ts';
import { MapAdapter } from './storage.ts';

const hour = 3600;
export const day = 24 * hour;
const resource = 'https://orders.example';

/** The parts of a request's context that the functions below read. */
interface Context {
  readonly oidc: {
    readonly params: { readonly scope?: string };
    readonly client: { readonly clientId: string };
    readonly account: { readonly accountId: string };
    readonly session: { grantIdFor(clientId: string): string | undefined };
    readonly provider: { readonly Grant: GrantClass };
  };
}

interface GrantClass {
  new (payload: object): {
    addOIDCScope(scope: string): void;
    addResourceScope(to: string, scope: string): void;
    save(): Promise<string>;
  };
  find(id: string): Promise<object>;
}

/** In seconds, as long as anything is measured. */
const ttl = {
  AccessToken: hour,
  AuthorizationCode: hour,
  ClientCredentials: hour,
  DeviceCode: hour,
  Grant: day,
  IdToken: hour,
  Interaction: hour,
  RefreshToken: day,
  Session: day,
};

const routes = {
  authorization: '/authorize',
  token: '/token',
  userinfo: '/userinfo',
  introspection: '/introspect',
  jwks: '/.well-known/jwks.json',
  device_authorization: '/device_authorization',
};

/**
 * The peer in its best case: everything in memory, no log, everyone who is signed in has consented. Its paths are ours,
 * so that the same requests measure it. Access tokens with `orders.read` are JWTs, as ours are, others opaque.
 */
export function createPeer(issuer: string, clients: readonly Client[]): Provider {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const codeClient = { redirect_uris: [redirectUri], response_types: ['code'] };
  return new Provider(issuer, {
    adapter: MapAdapter,
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    clients: [
      ...clients.map(({ clientId, clientSecret }) => ({
        ...codeClient,
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: [
          'authorization_code',
          'refresh_token',
          'client_credentials',
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
        token_endpoint_auth_method: 'client_secret_basic',
      })),
      {
        ...codeClient,
        client_id: publicClientId,
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'none',
      },
    ],
    scopes: personScope.split(' '),
    claims: { openid: ['sub'], email: ['email'], profile: ['name'] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ sub: accountId, name: 'Person', email: 'person@example.com' }),
    }),
    async loadExistingGrant({ oidc: { client, account, session, provider } }: Context) {
      const known = session.grantIdFor(client.clientId);
      if (known !== undefined) return provider.Grant.find(known);
      const grant = new provider.Grant({ clientId: client.clientId, accountId: account.accountId });
      grant.addOIDCScope(personScope);
      grant.addResourceScope(resource, 'orders.read');
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      deviceFlow: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: ({ oidc }: Context) =>
          oidc.params.scope?.includes('orders.read') === true ? resource : undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'orders.read',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    ttl,
    routes,
  });
}
