import { afterEach, expect, it, vi } from 'vitest';
import { ChangeKind } from '@tessera/proto-gen/directory';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type TestGateway } from '../testing/fake-services.ts';

let gateway: TestGateway;
afterEach(() => gateway.close());

const key = { kid: 'k', algorithm: 'RS256', members: { n: 'AQAB', e: 'AQAB' } };
const issuer = 'https://login.acme.example';

/** What the gateway says to `keys` of the algorithms that resources of an issuer declare. */
const said = (tenantId: string) =>
  gateway
    .requests('getPublicKeys')
    .filter((request) => request.tenantId === tenantId)
    .map(({ declared }) => declared);

it('the algorithms that resources declare are told to keys with each key set, and as soon as they change', async () => {
  const changes = Promise.withResolvers<void>();
  let own: string[] = [];
  let shared: string[] = [];
  gateway = openGateway(testRuntime(), {
    listTenantIssuers: () => ({
      issuers: [{ tenantId: 'acme', issuer, signingAlgorithms: own }],
      sharedSigningAlgorithms: shared,
    }),
    getPublicKeys: () => ({ keys: [key] }),
    async *watchChanges(_request, { signal }) {
      yield { sequence: 1n };
      await changes.promise;
      yield { sequence: 2n, kind: ChangeKind.TENANT, tenantId: 'acme' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
  await gateway.app.ready();
  await gateway.ready();
  expect([said(''), said('acme')]).toEqual([[[]], []]);
  own = ['ES256'];
  shared = ['ES256'];
  changes.resolve();
  await vi.waitUntil(() => said('acme').length === 1 && said('').length === 2);
  expect([said(''), said('acme')]).toEqual([[[], ['ES256']], [['ES256']]]);
});
