import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';
import { redirectUri } from '../declared-state.ts';
import { mintedClient, peerResource, publicClientId } from '../operations/minted.ts';
import { MapAdapter } from './storage.ts';

const hour = 3600;

/** The peer in its best case: everything in memory, no log, one client, JWT access tokens for client credentials. */
export function createPeer(issuer: string): Provider {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    adapter: MapAdapter,
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    clients: [
      {
        client_id: mintedClient.clientId,
        client_secret: mintedClient.clientSecret,
        grant_types: [
          'authorization_code',
          'refresh_token',
          'client_credentials',
          'urn:ietf:params:oauth:grant-type:device_code',
          'urn:openid:params:grant-type:ciba',
        ],
        redirect_uris: [redirectUri],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
        backchannel_token_delivery_mode: 'poll',
      },
      {
        client_id: publicClientId,
        grant_types: ['authorization_code'],
        redirect_uris: [redirectUri],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ],
    scopes: ['openid', 'profile', 'email', 'offline_access', 'orders.read'],
    claims: { openid: ['sub'], email: ['email'], profile: ['name'] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ sub: accountId, name: 'Person', email: 'person@example.com' }),
    }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      deviceFlow: { enabled: true },
      ciba: {
        enabled: true,
        processLoginHint: async (_context: unknown, hint: string) => hint,
        processLoginHintToken: async () => undefined,
        verifyUserCode: async () => undefined,
        validateBindingMessage: async () => undefined,
        validateRequestContext: async () => undefined,
        triggerAuthenticationDevice: async () => undefined,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'orders.read',
          audience: peerResource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: hour,
      AuthorizationCode: hour,
      BackchannelAuthenticationRequest: hour,
      ClientCredentials: hour,
      DeviceCode: hour,
      Grant: hour,
      IdToken: hour,
      Interaction: hour,
      RefreshToken: 24 * hour,
      Session: 24 * hour,
    },
    routes: { introspection: '/token/introspection', backchannel_authentication: '/backchannel' },
  });
  return provider;
}
