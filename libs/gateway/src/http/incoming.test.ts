import { afterEach, describe, expect, it } from 'vitest';
import { Code, ConnectError } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours, type TestGateway } from '../testing/fake-services.ts';
import { routes } from '../routes.ts';

const shared = 'https://id.example';
const globex = 'https://login.globex.example';
const metadata = '/.well-known/oauth-authorization-server';
const issuers = [
  { tenantId: 'globex', issuer: globex },
  { tenantId: 'acme', issuer: `${shared}/t/acme` },
];

const opened: TestGateway[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((gateway) => gateway.close()));
});

function open(behaviours: Behaviours = {}, environment: Record<string, string> = {}): TestGateway {
  const gateway = openGateway(
    testRuntime(),
    { listTenantIssuers: () => ({ issuers }), ...behaviours },
    { TESSERA_ISSUER: shared, ...environment },
    { readiness: () => Promise.resolve() },
  );
  opened.push(gateway);
  return gateway;
}

async function issuerAt(gateway: TestGateway, url: string, headers: Record<string, string>) {
  const answer = await gateway.app.inject({ method: 'GET', url, headers });
  return answer.statusCode === 200 ? answer.json<{ issuer: string }>().issuer : answer.statusCode;
}

describe('the issuer of a request', () => {
  it('is chosen by X-Forwarded-Host only if a trusted proxy sent it', async () => {
    const forwarded = { host: 'id.example', 'x-forwarded-host': 'login.globex.example' };
    expect(await issuerAt(open(), metadata, forwarded)).toBe(shared);
    const behindProxy = open({}, { TESSERA_TRUSTED_PROXIES: '127.0.0.1/32' });
    expect(await issuerAt(behindProxy, metadata, forwarded)).toBe(globex);
  });

  it('with a path is found at its host and at the other names of the shared issuer, and nowhere else', async () => {
    const gateway = open({}, { TESSERA_ALLOWED_HOSTS: 'gateway.internal,login.globex.example' });
    const at = (host: string, url = `/t/acme${metadata}`) => issuerAt(gateway, url, { host });
    expect(await at('id.example')).toBe(`${shared}/t/acme`);
    expect(await at('gateway.internal:8080')).toBe(`${shared}/t/acme`);
    for (const host of ['login.globex.example', 'evil.example', 'gateway.internal.evil.example']) {
      expect([host, await at(host)]).toEqual([host, 404]);
      expect([host, await at(host, `${metadata}/t/acme`)]).toEqual([host, 404]);
    }
  });
});

describe('without the list of tenant issuers', () => {
  const unavailable = {
    listTenantIssuers: () => {
      throw new ConnectError('the directory is unavailable', Code.Unavailable);
    },
  };

  it.each([
    ...routes.map(({ method, path }) => [method, path] as const),
    ['GET', '/t/acme/.well-known/jwks.json'],
    ['GET', '/unknown'],
  ] as const)('%s %s answers 503 with Retry-After', async (method, url) => {
    for (const host of ['id.example', 'login.globex.example']) {
      const answer = await open(unavailable).app.inject({ method, url, headers: { host } });
      expect(answer.statusCode).toBe(503);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  it('readiness is answered, and the gateway is not ready', async () => {
    const gateway = open(unavailable);
    expect((await gateway.app.inject({ method: 'GET', url: '/readyz' })).statusCode).toBe(200);
    await expect(gateway.ready()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  });

  it('requests are served once it could be read, and on from memory when the directory is unavailable later', async () => {
    let isAvailable = false;
    const gateway = open({
      listTenantIssuers: () => (isAvailable ? { issuers } : unavailable.listTenantIssuers()),
    });
    const keys = () => issuerAt(gateway, metadata, { host: 'login.globex.example' });
    expect(await keys()).toBe(503);
    isAvailable = true;
    await expect.poll(keys).toBe(globex);
    isAvailable = false;
    expect(await keys()).toBe(globex);
  });
});
