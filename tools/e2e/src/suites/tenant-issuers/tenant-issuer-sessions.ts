import { expect, it } from 'vitest';
import { authorizeQuery } from '../../harness/flows.ts';
import { tenants, type TenantIssuers } from '../../harness/tenant-issuers.ts';

/** Sessions of one issuer are nothing at another. */
export function tenantIssuerSessions({ pathOf, person, other, signIn }: TenantIssuers): void {
  it.each(tenants)(
    '%s: its cookies are its own, and its session is not accepted elsewhere',
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
}
