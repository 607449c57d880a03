import { createHash, randomBytes } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import { personScope, redirectUri } from '../declared-state.ts';
import { mintedClient, peerResource, type Minted, type MintedKind } from '../operations/minted.ts';

const verifier = randomBytes(32).toString('base64url');
const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
const { clientId } = mintedClient;
const authTime = Math.floor(Date.now() / 1000) - 60;

type Make = (provider: Provider, client: object, index: number) => Promise<Minted>;

/** Issues what a person would otherwise grant, with the peer's own models. */
export const makers: Readonly<Record<MintedKind, Make>> = {
  ready: async () => ({ value: '' }),
  codes: async (provider, client, index) => {
    const token = await personal(provider, client, index);
    const code = new provider.AuthorizationCode({
      ...token,
      redirectUri,
      codeChallenge,
      codeChallengeMethod: 'S256',
    });
    return { value: await code.save(), verifier };
  },
  'refresh-tokens': async (provider, client, index) => {
    const token = await personal(provider, client, index);
    const refreshToken = new provider.RefreshToken({ ...token, rotations: 0, gty: 'authorization_code' });
    return { value: await refreshToken.save() };
  },
  'opaque-tokens': personalAccessToken,
  'person-tokens': personalAccessToken,
  'device-codes': async (provider, client, index) => {
    const code = new provider.DeviceCode({
      client,
      params: { scope: 'openid' },
      userCode: `USER${index}`,
      deviceInfo: {},
    });
    return { value: await code.save() };
  },
  sessions: async (provider, client, index) => {
    const accountId = `person-${index}`;
    const { grantId } = await personal(provider, client, index, false);
    const session = new provider.Session({
      accountId,
      loginTs: authTime,
      authorizations: { [clientId]: { sid: randomBytes(16).toString('base64url'), grantId } },
    });
    await session.save(3600);
    return { value: session.jti };
  },
};

async function personalAccessToken(provider: Provider, client: object, index: number): Promise<Minted> {
  const token = await personal(provider, client, index, false);
  return { value: await new provider.AccessToken({ ...token, gty: 'authorization_code' }).save() };
}

/** A grant of one person, and what its codes and tokens have in common. */
async function personal(provider: Provider, client: object, index: number, withResource = true) {
  const accountId = `person-${index}`;
  const grant = new provider.Grant({ clientId, accountId });
  grant.addOIDCScope(personScope);
  grant.addResourceScope(peerResource, 'orders.read');
  const grantId = await grant.save();
  const resource = withResource ? { resource: peerResource } : {};
  return { client, accountId, grantId, scope: personScope, authTime, ...resource };
}
