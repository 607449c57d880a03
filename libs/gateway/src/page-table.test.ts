import { testRuntime } from '@tessera/test-kit';
import { afterAll, describe, expect, it } from 'vitest';
import { pageTable } from './page-table.ts';
import { openGateway, passwordStep } from './testing/fake-services.ts';

/** A gateway that nobody is signed in at. A call that needs a person is not expected, and fails by its name. */
const gateway = openGateway(
  testRuntime(),
  {
    begin: ({ visit }) =>
      passwordStep({ interactionId: 'i', tenantId: visit.case === 'page' ? visit.value.tenantId : 'acme' }),
    getTenantLooks: () => ({ name: 'Acme' }),
  },
  { TESSERA_ISSUER: 'https://id.example' },
);
afterAll(() => gateway.close());

const ofPersons = pageTable.filter(({ who }) => who === 'person');

describe('the table of pages', () => {
  it('has each path once', () => {
    const paths = pageTable.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    expect(ofPersons.length).toBeGreaterThan(3);
  });

  it.each(ofPersons)(
    '$path asks whoever is not signed in to sign in first, or refuses them',
    async ({ path }) => {
      const headers = { host: 'id.example', accept: 'text/html' };
      const url = `${path}?tenant=acme&link=x&email=ada%40acme.example`;
      const { body, statusCode } = await gateway.app.inject({ url, headers });
      const asked = statusCode === 200 && body.includes('name="password"');
      expect(asked || (statusCode === 400 && !body.includes('<form'))).toBe(true);
    },
  );
});
