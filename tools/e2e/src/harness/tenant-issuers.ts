import * as openid from 'openid-client';
import { type Answer, type Ask, HttpClient, Person } from '@tessera/test-client';
import { eventually } from '@tessera/test-kit/provision';
import { people, redirectUri, secrets } from './declared-state.ts';
import type { System } from './set-up.ts';

export type Tenant = 'initech' | 'hooli';
export const tenants: readonly Tenant[] = ['initech', 'hooli'];
export const audience = 'https://api.own.example';

/** The issuer of the tenant `harbour`, which is as one of Keycloak. */
export const realmIssuer = ({ baseUrl }: System): string => `${baseUrl}/realms/harbour`;

/**
 * Two tenants with issuers of their own, `initech` below a path and `hooli` on a host, and how their clients ask there.
 */
export type TenantIssuers = ReturnType<typeof tenantIssuersOf>;

export function tenantIssuersOf(system: () => System) {
  const hostOf = (tenant: Tenant) => new URL(issuers()[tenant]).origin;

  const pathOf = (tenant: Tenant) => new URL(issuers()[tenant]).pathname.replace(/\/$/, '');

  const issuers = () => ({
    initech: `${system().baseUrl}/t/initech`,
    hooli: system().baseUrl.replace('127.0.0.1', 'localhost'),
  });

  /** What their tenants are declared with. */
  const declared = () => ({ issuers: issuers(), realm: realmIssuer(system()) });

  const clients = new Map<Tenant, HttpClient>();

  function clientOf(tenant: Tenant): HttpClient {
    const client = clients.get(tenant);
    if (client === undefined) throw new Error(`${tenant} has no client yet`);
    return client;
  }

  function ask(tenant: Tenant, ...[method, path, options]: Parameters<HttpClient['ask']>): Promise<Answer> {
    return clientOf(tenant).ask(method, pathOf(tenant) + path, options);
  }

  const person = (tenant: Tenant) => new Person(clientOf(tenant), people.gus);

  const other = (tenant: Tenant): Tenant => (tenant === 'initech' ? 'hooli' : 'initech');

  /** Logs in with openid-client by the issuer URL, client id and secret alone. */
  async function signIn(tenant: Tenant, as = person(tenant)) {
    const config = await openid.discovery(
      new URL(issuers()[tenant]),
      `${tenant}-web`,
      undefined,
      openid.ClientSecretBasic(secrets.own),
      { execute: [openid.allowInsecureRequests] },
    );
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid profile offline_access things.read',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    const started = await as.get(url.pathname + url.search);
    const location = started.header('location') ?? '';
    const { username: identifier, password } = people.gus;
    const answer = location.startsWith('http')
      ? started
      : await as.submit(location, { identifier, password });
    const callback = new URL(answer.header('location') ?? '');
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    };
    const tokens = await openid.authorizationCodeGrant(config, callback, checks);
    return { config, callback, tokens };
  }

  /** The answer once it is no failure. */
  async function served(request: () => Promise<Answer>): Promise<Answer> {
    let answer: Answer | undefined;
    await eventually('it is served', async () => (answer = await request()).status === 200);
    if (answer === undefined) throw new Error('no answer');
    return answer;
  }

  async function askedIssuer(tenant: Tenant) {
    const form = { grant_type: 'client_credentials', scope: 'things.read' };
    const basic = [`${tenant}-web`, secrets.own] as const;
    const granted = await served(() => ask(tenant, 'POST', '/token', { form, basic }));
    const published = await served(() => ask(tenant, 'GET', '/.well-known/jwks.json'));
    const jwks = published.json() as { keys: { kid: string }[] };
    // The port is bound to one of the addresses of `localhost`.
    const headers = { host: new URL(issuers()[tenant]).host };
    return {
      issuer: issuers()[tenant],
      clientId: `${tenant}-web`,
      audience,
      accessToken: String(granted.json()['access_token']),
      keyIds: jwks.keys.map(({ kid }) => kid),
      ask: (method: string, path: string, options: Ask = {}) =>
        system().http.ask(method, pathOf(tenant) + path, {
          ...options,
          headers: { ...options.headers, ...headers },
        }),
    };
  }

  return {
    issuers,
    declared,
    pathOf,
    clientOf,
    ask,
    person,
    other,
    signIn,
    askedIssuer,
    /** Declares them, and waits until they are served. */
    async open(): Promise<void> {
      await system().apply(declared());
      for (const tenant of tenants) {
        clients.set(tenant, new HttpClient(() => hostOf(tenant)));
        await eventually(`the issuer of ${tenant} is served`, async () => {
          const found = await ask(tenant, 'GET', '/.well-known/openid-configuration');
          return found.status === 200 && found.json()['issuer'] === issuers()[tenant];
        });
      }
    },
    async close(): Promise<void> {
      for (const client of clients.values()) {
        for (const value of client.seen) system().http.seen.add(value);
        client.close();
      }
      await system().apply({});
    },
  };
}
