/** A Keycloak as the provider of a company. */
import { address, startKeycloak } from '../keycloak/keycloak.ts';
import { group, passwordThere, people, type Registration, type Upstream } from './upstream.ts';

const realm = 'staff';

/** Starts a Keycloak with the realm, where Tessera is a confidential client that is told the groups of people. */
export async function keycloakUpstream(registration: Registration): Promise<Upstream> {
  const { send, stop } = await startKeycloak();
  try {
    await send('POST', '', realmWith(registration));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    issuer: `${address}/realms/${realm}`,
    preset: 'keycloak',
    stop,

    async signIn(page, username) {
      await page.waitForSelector('#password');
      // Who has a session there is asked for the password alone.
      if (await page.locator('#username').isVisible()) await page.fill('#username', username);
      await page.fill('#password', passwordThere);
      await page.click('#kc-login');
    },

    async leaveGroup() {
      const [ada] = (await send('GET', `/${realm}/users?username=ada&exact=true`)) as { id: string }[];
      const [left] = (await send('GET', `/${realm}/users/${ada?.id}/groups`)) as { id: string }[];
      await send('DELETE', `/${realm}/users/${ada?.id}/groups/${left?.id}`);
    },

    async rotateKeys() {
      await send('POST', `/${realm}/components`, {
        name: 'newer',
        providerId: 'rsa-generated',
        providerType: 'org.keycloak.keys.KeyProvider',
        config: { priority: ['1000'], algorithm: ['RS256'], keySize: ['2048'] },
      });
    },
  };
}

const realmWith = ({ clientId, clientSecret, redirectUri }: Registration) => ({
  realm,
  enabled: true,
  groups: [{ name: group }],
  users: people.map(({ username, email, givenName, familyName }) => ({
    username,
    email,
    emailVerified: true,
    firstName: givenName,
    lastName: familyName,
    enabled: true,
    credentials: [{ type: 'password', value: passwordThere }],
    groups: username === 'ada' ? [`/${group}`] : [],
  })),
  clients: [
    {
      clientId,
      secret: clientSecret,
      publicClient: false,
      standardFlowEnabled: true,
      redirectUris: [redirectUri],
      protocolMappers: [
        {
          name: 'groups',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-group-membership-mapper',
          config: {
            'claim.name': 'groups',
            'full.path': 'false',
            'id.token.claim': 'true',
            'userinfo.token.claim': 'true',
          },
        },
      ],
    },
  ],
});
