import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { expect, it } from 'vitest';
import { authorizeQuery } from '../../harness/flows.ts';
import { redirectUri } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

import { audience, tenants, type TenantIssuers } from '../../harness/tenant-issuers.ts';

/** What clients and people of a tenant do at its issuer. */
export function tenantIssuerLogins(system: () => System, on: TenantIssuers): void {
  const { issuers, pathOf, clientOf, ask, person, signIn } = on;

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
}
