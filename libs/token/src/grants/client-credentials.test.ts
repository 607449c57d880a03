import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { billing, orders } from '../testing/declared-records.ts';
import { claimsOf, codeOf, issuer, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

const ask = (clientId: string, more: Record<string, string> = {}) =>
  on.exchange(clientId, { grantType: 'client_credentials', ...more });

describe('the client credentials grant', () => {
  it('issues only an access token, with the client as subject and without roles (RFC 6749 section 4.4.3, SUB-1)', async () => {
    const answer = await ask('service', { scope: 'orders.read' });
    expect(answer).toMatchObject({ expiresIn: 600, scope: 'orders.read', refreshToken: '', idToken: '' });
    expect(claimsOf(answer.accessToken)).toMatchObject({
      iss: issuer,
      aud: orders,
      sub: 'service',
      client_id: 'service',
      tenant_id: 'acme',
      scope: ['orders.read'],
      role: [],
    });
  });

  it('grants every scope of its one resource if none is requested, and requires a choice between two resources', async () => {
    expect((await ask('web')).scope).toBe('orders.read orders.write');
    expect(await codeOf(ask('service'))).toBe('invalid_scope');
    expect((await ask('service', { resource: billing })).scope).toBe('billing.read');
  });

  it('refuses scopes of users, unknown scopes and resources of other applications', async () => {
    for (const scope of ['openid', 'offline_access', 'no.such', 'orders.read openid']) {
      expect(await codeOf(ask('service', { scope }))).toBe('invalid_scope');
    }
    expect(await codeOf(ask('web', { resource: billing }))).toBe('invalid_target');
  });

  it('is only for confidential clients with this grant type', async () => {
    expect(await codeOf(ask('spa'))).toBe('unauthorized_client');
    expect(await codeOf(ask('no-refresh'))).toBe('unauthorized_client');
  });

  it('is audited once per token within a second', async () => {
    const { jti } = claimsOf((await ask('web')).accessToken);
    const issued = (await on.events()).filter(({ event }) => event === 'token.issued');
    const mine = issued.filter(({ record }) => JSON.stringify(record).includes(String(jti)));
    const actor = { type: 'client', id: 'web' };
    const record = { outcome: 'success', clientId: 'web', subject: 'web', actor, ipAddress: '192.0.2.7' };
    expect(mine).toMatchObject([{ record }]);
  });
});
