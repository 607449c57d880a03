import { request } from 'node:http';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people, redirectUri, secrets } from '../../harness/declared-state.ts';
import { eventually } from '@tessera/test-kit/provision';
import { newPkce, Person } from '@tessera/test-client';
import { authorizeQuery } from '../../harness/flows.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const loginHost = 'login.hooli.example';
const hooli = `https://${loginHost}`;

/**
 * Attacks across the issuers of tenants. The shared issuer is inferred from the host; the test is the trusted proxy.
 */
describe('attacks on tenant issuers', () => {
  let system: System;
  let initech: string;

  beforeAll(async () => {
    const environment = {
      TESSERA_TRUSTED_PROXIES: '127.0.0.1/32',
      TESSERA_ALLOWED_HOSTS: `127.0.0.1,localhost,${loginHost}`,
    };
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUps.compact, { stores, environment });
    initech = `${system.baseUrl}/t/initech`;
    await system.apply({ issuers: { initech, hooli } });
    await eventually('both issuers are served', async () => {
      const issuers = [
        await issuerIn('/t/initech/.well-known/openid-configuration'),
        await issuerIn('/.well-known/openid-configuration', at(loginHost)),
      ];
      return issuers[0] === initech && issuers[1] === hooli;
    });
  });
  afterAll(() => system?.stop());

  const at = (host: string) => ({ 'x-forwarded-host': host, 'x-forwarded-proto': 'https' });

  async function issuerIn(path: string, headers: Record<string, string> = {}): Promise<unknown> {
    const answer = await system.http.ask('GET', path, { headers });
    return answer.status === 200 ? answer.json()['issuer'] : answer.status;
  }

  const token = (path: string, form: Record<string, string>, client: string, secret: string, headers = {}) =>
    system.http.ask('POST', `${path}/token`, { form, headers, basic: [client, secret] });
  const serviceToken = (headers: Record<string, string>) =>
    token(
      '',
      { grant_type: 'client_credentials', scope: 'orders.read' },
      'acme-service',
      secrets.service,
      headers,
    );

  it('a tenant of the shared issuer gets tokens at any other allowed host', async () => {
    const answer = await serviceToken(at('localhost:8443'));
    expect(decodeJwt(String(answer.json()['access_token'])).iss).toBe('https://localhost:8443');
  });

  it.each([
    `${loginHost}:00443`,
    `${loginHost}:0443`,
    `${loginHost}:443`,
    loginHost.toUpperCase(),
    `${loginHost}.`,
    `${loginHost}:`,
    `127.0.0.1, ${loginHost}:00443`,
  ])('the host %s gets no tenant of the shared issuer a token of hooli', async (host) => {
    const answer = await serviceToken(at(host));
    const { access_token: accessToken } = answer.json();
    expect(typeof accessToken === 'string' ? decodeJwt(accessToken).iss : answer.status).not.toBe(hooli);
    expect([400, 401]).toContain(answer.status);
    expect([hooli, 500]).toContain(await issuerIn('/.well-known/openid-configuration', at(host)));
  });

  it.each([
    '//t/initech/.well-known/openid-configuration',
    '/t//initech/.well-known/openid-configuration',
    '/t/%69nitech/.well-known/openid-configuration',
    '/t%2Finitech/.well-known/openid-configuration',
    '/t/initech/../.well-known/openid-configuration',
    '/t/initech/%2e%2e/.well-known/openid-configuration',
    '/t/INITECH/.well-known/openid-configuration',
    '/t/initech./.well-known/openid-configuration',
    '/t/initech;/.well-known/openid-configuration',
    '/.well-known/openid-configuration/t/initech/',
    '/.well-known/openid-configuration//t/initech',
    '/.well-known/openid-configuration/t/initech/../initech',
    'http://evil.example/t/initech/.well-known/openid-configuration',
  ])('the path %s is not an issuer', async (path) => {
    expect(await statusOf(path)).toBe(404);
  });

  /** Sends the path exactly as written. */
  function statusOf(path: string): Promise<number | undefined> {
    const { hostname, port } = new URL(system.baseUrl);
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject).end();
    });
  }

  /** Signs in at initech and returns the code. */
  async function codeAtInitech(challenge: string) {
    const browser = new Person(system.http, people.ada);
    const query = authorizeQuery({
      client_id: 'initech-web',
      scope: 'openid offline_access things.read',
      code_challenge: challenge,
    });
    const { username: identifier, password } = people.gus;
    const started = await browser.get(`/t/initech/authorize?${query}`);
    const answer = await browser.submit(started.header('location') ?? '', { identifier, password });
    const callback = new URL(answer.header('location') ?? '');
    expect(callback.searchParams.get('iss')).toBe(initech);
    return callback.searchParams.get('code') ?? '';
  }

  it('a code and a refresh token of one issuer are refused at others, and stay valid at theirs', async () => {
    const { challenge, verifier } = newPkce();
    const code = await codeAtInitech(challenge);
    const redeem = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    };
    const elsewhere = async (form: Record<string, string>) => {
      const atHooli = await token('', form, 'hooli-web', secrets.own, at(loginHost));
      const atShared = await token('', form, 'acme-web', secrets.web);
      const moved = await token('', form, 'initech-web', secrets.own, at(loginHost));
      return [atHooli, atShared, moved].map((answer) => answer.json()['error']);
    };
    expect(await elsewhere(redeem)).toEqual(['invalid_grant', 'invalid_grant', 'invalid_client']);
    const issued = (await token('/t/initech', redeem, 'initech-web', secrets.own)).json();
    expect(decodeJwt(String(issued['access_token'])).iss).toBe(initech);

    const refresh = { grant_type: 'refresh_token', refresh_token: String(issued['refresh_token']) };
    expect(await elsewhere(refresh)).toEqual(['invalid_grant', 'invalid_grant', 'invalid_client']);
    expect((await token('/t/initech', refresh, 'initech-web', secrets.own)).status).toBe(200);

    const hint = String(issued['id_token']);
    for (const [path, headers] of [
      [`/logout?id_token_hint=${hint}`, at(loginHost)],
      [`/logout?id_token_hint=${hint}&client_id=initech-web`, {}],
    ] as const) {
      const answer = await system.http.ask('GET', `${path}&post_logout_redirect_uri=${redirectUri}`, {
        headers,
      });
      expect(answer.header('location')).toBe('/login');
    }
  });
});
