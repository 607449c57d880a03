import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';
import { tenants, type TenantIssuers } from '../../harness/tenant-issuers.ts';

/** What people of a tenant decide at its issuer. */
export function tenantIssuerDecisions(system: () => System, on: TenantIssuers): void {
  const { issuers, pathOf, ask, person } = on;

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

  it('people of a tenant with an issuer of its own are sent to its own approvals page', async () => {
    for (const tenant of tenants) {
      const answer = await system().person().get(`/approvals?tenant=${tenant}`);
      expect(answer.header('location')).toBe(`${issuers()[tenant]}/approvals`);
      const page = await person(tenant).get(`${pathOf(tenant)}/approvals`);
      expect(page.text).toContain(`action="${pathOf(tenant)}/approvals"`);
    }
  });
}
