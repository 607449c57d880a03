import { testRuntime } from '@tessera/test-kit';
import { afterAll, expect, it } from 'vitest';
import { openGateway } from '../testing/fake-services.ts';

const gateway = openGateway(
  testRuntime(),
  {
    listTenantIssuers: () => ({
      issuers: [
        { tenantId: 'a', issuer: 'https://login.a.example', passkeyDomain: 'shared' },
        { tenantId: 'b', issuer: 'https://login.b.example', passkeyDomain: 'own' },
        { tenantId: 'c', issuer: 'https://many.example/c', passkeyDomain: 'shared' },
        { tenantId: 'd', issuer: 'https://many.example/d', passkeyDomain: 'shared' },
        { tenantId: 'e', issuer: 'https://old.example', passkeyDomain: '' },
      ],
    }),
  },
  { TESSERA_ISSUER: 'https://id.example' },
);
afterAll(() => gateway.close());

const get = (host: string) => gateway.app.inject({ url: '/.well-known/webauthn', headers: { host } });

it('names the origins of the tenants whose passkeys are for the shared host, and no others (WebAuthn L3 §5.11)', async () => {
  const answer = await get('id.example');
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(answer.json()).toEqual({ origins: ['https://login.a.example', 'https://many.example'] });
});

it.each(['login.a.example', 'login.b.example'])('lets nobody use passkeys of %s', async (host) =>
  expect((await get(host)).statusCode).toBe(404),
);

it('is read once a second', async () => {
  const before = gateway.requests('listTenantIssuers').length;
  await Promise.all(Array.from({ length: 5 }, async () => get('id.example')));
  expect(gateway.requests('listTenantIssuers').length - before).toBeLessThanOrEqual(1);
});
