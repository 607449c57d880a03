import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@tessera/test-kit/provision';
import { type Answer, type Ask, HttpClient, Person } from '@tessera/test-client';
import { authorizeQuery } from '../harness/flows.ts';
import { people, redirectUri, secrets } from '../harness/declared-state.ts';
import type { SetUp, System } from '../harness/set-up.ts';
import { coldStartTests } from './cold-start.ts';

type Tenant = 'initech' | 'hooli';
const tenants: readonly Tenant[] = ['initech', 'hooli'];
const audience = 'https://api.own.example';

/** Two tenants with issuers of their own, `initech` below a path and `hooli` on a host, beside those at the shared issuer. */
export function tenantIssuersSuite(system: () => System, topology: SetUp['topology']): void {
  describe('tenant issuers', () => {
    const hostOf = (tenant: Tenant) => new URL(issuers()[tenant]).origin;
    const pathOf = (tenant: Tenant) => new URL(issuers()[tenant]).pathname.replace(/\/$/, '');
    const issuers = () => ({
      initech: `${system().baseUrl}/t/initech`,
      hooli: system().baseUrl.replace('127.0.0.1', 'localhost'),
    });
    const clients = new Map<Tenant, HttpClient>();

    beforeAll(async () => {
      await system().apply({ issuers: issuers() });
      for (const tenant of tenants) {
        clients.set(tenant, new HttpClient(() => hostOf(tenant)));
        await eventually(`the issuer of ${tenant} is served`, async () => {
          const found = await ask(tenant, 'GET', '/.well-known/openid-configuration');
          return found.status === 200 && found.json()['issuer'] === issuers()[tenant];
        });
      }
    });

    afterAll(async () => {
      for (const client of clients.values()) {
        for (const value of client.seen) system().http.seen.add(value);
        client.close();
      }
      await system().apply({});
    });

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

    it.each(tenants)(
      '%s: openid-client logs in, refreshes and reads userinfo by the issuer URL alone',
      async (tenant) => {
        const { config, callback, tokens } = await signIn(tenant);
        const issuer = issuers()[tenant];
        expect(callback.searchParams.get('iss')).toBe(issuer);
        expect(tokens.claims()).toMatchObject({ iss: issuer, aud: `${tenant}-web` });
        expect(decodeJwt(tokens.access_token)).toMatchObject({
          iss: issuer,
          aud: audience,
          tenant_id: tenant,
        });
        const subject = tokens.claims()?.sub ?? '';
        expect((await openid.fetchUserInfo(config, tokens.access_token, subject)).name).toBe('Gus');
        const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
        expect(decodeJwt(refreshed.access_token).iss).toBe(issuer);
        expect(await openid.tokenIntrospection(config, refreshed.access_token)).toMatchObject({
          active: true,
          iss: issuer,
        });
        expect(await openid.tokenIntrospection(config, refreshed.refresh_token ?? '')).toMatchObject({
          active: true,
        });
        await openid.tokenRevocation(config, refreshed.refresh_token ?? '');
        expect(await openid.tokenIntrospection(config, refreshed.refresh_token ?? '')).toEqual({
          active: false,
        });
      },
    );

    it.each(tenants)(
      '%s: metadata is complete at both locations (OIDC Discovery §4, RFC 8414 §3.1)',
      async (tenant) => {
        const issuer = issuers()[tenant];
        const appended = (await ask(tenant, 'GET', '/.well-known/openid-configuration')).json();
        const inserted = await clientOf(tenant).ask(
          'GET',
          `/.well-known/oauth-authorization-server${pathOf(tenant)}`,
        );
        expect(inserted.json()).toEqual(appended);
        expect(appended).toMatchObject({
          issuer,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/.well-known/jwks.json`,
          device_authorization_endpoint: `${issuer}/device_authorization`,
          end_session_endpoint: `${issuer}/logout`,
        });
        expect((await system().http.ask('GET', '/.well-known/openid-configuration')).json()['issuer']).toBe(
          system().baseUrl,
        );
      },
    );

    it('an unknown path and a path that only begins like an issuer are not found', async () => {
      for (const path of [
        '/t/nobody/token',
        '/t/initech',
        '/t/initechx/authorize',
        '/t/initech/t/initech/login',
      ]) {
        expect([path, (await system().http.ask('GET', path)).status]).toEqual([path, 404]);
      }
    });

    it('no key of one issuer is published or signs at another', async () => {
      const key = async (tenant: Tenant) => {
        const jwks = (await ask(tenant, 'GET', '/.well-known/jwks.json')).json() as {
          keys: { kid: string }[];
        };
        return jwks.keys.map(({ kid }) => kid);
      };
      const shared = (await system().http.ask('GET', '/.well-known/jwks.json')).json() as {
        keys: { kid: string }[];
      };
      const kids = [await key('initech'), await key('hooli'), shared.keys.map(({ kid }) => kid)];
      expect(new Set(kids.flat()).size).toBe(kids.flat().length);
      for (const tenant of tenants) {
        const { tokens } = await signIn(tenant);
        for (const token of [tokens.access_token, tokens.id_token ?? '']) {
          expect(await key(tenant)).toContain(decodeProtectedHeader(token).kid);
          const of = (issuer: string) =>
            jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`)));
          await expect(of(issuers()[tenant])).resolves.toBeTruthy();
          await expect(of(issuers()[other(tenant)])).rejects.toThrow();
          await expect(of(system().baseUrl)).rejects.toThrow();
        }
      }
    });

    it.each(tenants)('%s: its tokens are refused at every other issuer', async (tenant) => {
      const { tokens } = await signIn(tenant);
      const authorization = `Bearer ${tokens.access_token}`;
      const elsewhere = [
        (path: string, form?: Record<string, string>) =>
          ask(other(tenant), form === undefined ? 'GET' : 'POST', path, {
            ...(form && { form }),
            headers: { authorization },
          }),
        (path: string, form?: Record<string, string>) =>
          system().http.ask(form === undefined ? 'GET' : 'POST', path, {
            ...(form && { form }),
            headers: { authorization },
          }),
      ];
      for (const at of elsewhere) {
        expect((await at('/userinfo')).status).toBe(401);
        expect((await at(`/auth/verify?audience=${encodeURIComponent(audience)}`)).status).toBe(401);
      }
      for (const token of [tokens.access_token, tokens.refresh_token ?? '']) {
        const introspect = { json: { token } };
        expect((await ask(other(tenant), 'POST', '/introspect', introspect)).json()['data']).toEqual({
          active: false,
        });
        expect((await system().http.ask('POST', '/introspect', introspect)).json()['data']).toEqual({
          active: false,
        });
        expect((await ask(tenant, 'POST', '/introspect', introspect)).json()['data']).toMatchObject({
          active: true,
        });
      }
    });

    it.each(tenants)(
      '%s: its clients are unknown at every other issuer, and clients of others here',
      async (tenant) => {
        const grant = (clientId: string, secret: string) => ({
          form: { grant_type: 'client_credentials' },
          basic: [clientId, secret] as const,
        });
        const own = grant(`${tenant}-web`, secrets.own);
        expect((await ask(tenant, 'POST', '/token', own)).status).toBe(200);
        expect((await ask(other(tenant), 'POST', '/token', own)).json()['error']).toBe('invalid_client');
        expect((await system().http.ask('POST', '/token', own)).json()['error']).toBe('invalid_client');
        const acme = grant('acme-service', secrets.service);
        expect((await ask(tenant, 'POST', '/token', acme)).json()['error']).toBe('invalid_client');

        const unknown = { status: 400, message: 'The client is not known.' };
        const query = authorizeQuery({ client_id: `${tenant}-web`, scope: 'openid' });
        for (const answer of [
          await system().http.ask('GET', `/authorize?${query}`),
          await ask(other(tenant), 'GET', `/authorize?${query}`),
          await ask(tenant, 'GET', `/authorize?${authorizeQuery({ scope: 'openid' })}`),
        ]) {
          expect({ status: answer.status, message: answer.json()['message'] }).toEqual(unknown);
        }
        const start = { form: { client_id: `${tenant}-tv` } };
        expect((await ask(other(tenant), 'POST', '/device_authorization', start)).status).toBe(401);
        expect((await system().http.ask('POST', '/device_authorization', start)).status).toBe(401);
      },
    );

    it.each(tenants)(
      '%s: its cookies are its own, and its session signs nobody in elsewhere',
      async (tenant) => {
        const browser = person(tenant);
        await signIn(tenant, browser);
        const names = [...browser.cookies.keys()];
        expect(names.length).toBeGreaterThan(1);
        for (const name of names) expect(name).toMatch(new RegExp(`\\.${tenant}$`));
        // A second login needs no password.
        const again = await browser.get(
          `${pathOf(tenant)}/authorize?${authorizeQuery({ client_id: `${tenant}-web`, scope: 'openid' })}`,
        );
        expect(again.header('location')).toMatch(/^http:\/\/127\.0\.0\.1:9000\/callback\?.*code=/);
        // The same browser, with the cookies renamed, at the other issuer.
        const moved = person(other(tenant));
        for (const [name, value] of browser.cookies) {
          moved.cookies.set(name, value);
          moved.cookies.set(name.replace(tenant, other(tenant)), value);
        }
        const approvals = await moved.get(`${pathOf(other(tenant))}/approvals`);
        expect(approvals.text).toContain('name="password"');
        const silent = authorizeQuery({ client_id: `${other(tenant)}-web`, scope: 'openid', prompt: 'none' });
        const refused = await moved.get(`${pathOf(other(tenant))}/authorize?${silent}`);
        expect(refused.header('location') ?? '').not.toMatch(/[?&]code=/);
      },
    );

    it.each(tenants)(
      "%s: another issuer's ID token is no id_token_hint, even where its user is signed in (OIDC Core §3.1.2.1)",
      async (tenant) => {
        const browser = person(tenant);
        await signIn(tenant, browser);
        const { tokens } = await signIn(other(tenant), person(other(tenant)));
        const asked = { client_id: `${tenant}-web`, scope: 'openid', prompt: 'none' };
        const query = authorizeQuery({ ...asked, id_token_hint: tokens.id_token });
        const answer = await browser.get(`${pathOf(tenant)}/authorize?${query}`);
        const { searchParams } = new URL(answer.header('location') ?? '');
        expect([searchParams.get('error'), searchParams.get('code')]).toEqual(['invalid_request', null]);
      },
    );

    it.each(tenants)('%s: logging out ends the session and stays below the issuer', async (tenant) => {
      const browser = person(tenant);
      const { tokens } = await signIn(tenant, browser);
      const query = new URLSearchParams({
        id_token_hint: tokens.id_token ?? '',
        post_logout_redirect_uri: redirectUri,
      });
      const answer = await browser.get(`${pathOf(tenant)}/logout?${query.toString()}`);
      expect(answer.header('location')).toBe(`${redirectUri}?logged_out=1`);
      const asked = await browser.get(
        `${pathOf(tenant)}/authorize?${authorizeQuery({ client_id: `${tenant}-web`, scope: 'openid' })}`,
      );
      expect(asked.header('location')).toMatch(new RegExp(`^${pathOf(tenant)}/login`));
      const bare = await browser.get(`${pathOf(tenant)}/logout`);
      expect(bare.header('location')).toBe(`${pathOf(tenant)}/login`);
    });

    it.each(tenants)(
      '%s: a device is connected on a page that knows the tenant, and nowhere else',
      async (tenant) => {
        const started = (
          await ask(tenant, 'POST', '/device_authorization', {
            form: { client_id: `${tenant}-tv`, scope: 'openid things.read' },
          })
        ).json();
        expect(started['verification_uri']).toBe(`${issuers()[tenant]}/device`);
        const userCode = String(started['user_code']);

        const stranger = system().person();
        const wrong = await stranger.submit('/device', { user_code: userCode });
        expect((await stranger.get(wrong.header('location') ?? '')).text).toContain('not valid');

        const browser = person(tenant);
        const base = pathOf(tenant);
        const opened = await browser.submit(`${base}/device`, { user_code: userCode });
        const { username: identifier, password } = people.gus;
        const signedIn = await browser.submit(opened.header('location') ?? '', { identifier, password });
        const decided = await browser.submit(signedIn.header('location') ?? '', { decision: 'approve' });
        expect(decided.header('location')).toBe(`${base}/device`);
        const poll = await ask(tenant, 'POST', '/token', {
          form: {
            grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
            client_id: `${tenant}-tv`,
            device_code: String(started['device_code']),
          },
        });
        expect(decodeJwt(String(poll.json()['access_token']))).toMatchObject({
          iss: issuers()[tenant],
          tenant_id: tenant,
        });
      },
    );

    coldStartTests(system, topology, () => Promise.all(tenants.map(askedIssuer)));

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

    it('people of a tenant with an issuer of its own are sent to its own approvals page', async () => {
      for (const tenant of tenants) {
        const answer = await system().person().get(`/approvals?tenant=${tenant}`);
        expect(answer.header('location')).toBe(`${issuers()[tenant]}/approvals`);
        const page = await person(tenant).get(`${pathOf(tenant)}/approvals`);
        expect(page.text).toContain(`action="${pathOf(tenant)}/approvals"`);
      }
    });
  });
}
