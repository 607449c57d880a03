import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { expect, it } from 'vitest';
import { eventually } from '@tessera/test-kit/provision';
import { authorizeQuery } from '../../harness/flows.ts';
import { secrets } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

import { audience, tenants, type Tenant, type TenantIssuers } from '../../harness/tenant-issuers.ts';

/** Keys, tokens and clients of one issuer are nothing at another. */
export function tenantIssuerBorders(system: () => System, on: TenantIssuers): void {
  const { issuers, declared, ask, other, signIn } = on;

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

  it('has a key for ES256 once its resource declares it, published before it signs (RFC 7517 section 5)', async () => {
    const published = async () =>
      (
        (await ask('initech', 'GET', '/.well-known/jwks.json')).json() as {
          keys: { alg: string; kid: string }[];
        }
      ).keys;
    const token = async () => {
      const form = { grant_type: 'client_credentials', scope: 'things.read' };
      return ask('initech', 'POST', '/token', { form, basic: ['initech-web', secrets.own] });
    };
    expect((await published()).map(({ alg }) => alg)).toEqual(['RS256']);
    await system().apply({ ...declared(), ownAlgorithm: 'ES256' });
    let known: readonly string[] = [];
    let signed: { alg?: string; kid?: string } = {};
    await eventually('a token is signed with ES256', async () => {
      known = (await published()).map(({ kid }) => kid);
      const answer = await token();
      expect([200, 503]).toContain(answer.status);
      if (answer.status === 503) return false;
      signed = decodeProtectedHeader(String(answer.json()['access_token']));
      return signed.alg === 'ES256';
    });
    expect(known).toContain(signed.kid);
    await system().apply(declared());
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
}
