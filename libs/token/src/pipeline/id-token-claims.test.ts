import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimsOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
  const { scopes = [], grantTypes = [] } = on.directory.applications.get('web') ?? {};
  on.directory.addApplication('reads-id-token', { scopes, grantTypes, idTokenClaims: ['profile', 'email'] });
});
afterAll(() => on.close());

const clientId = 'reads-id-token';
const names = ['name', 'email', 'phone_number'] as const;

/** The standard claims of the ID token. */
function standardClaims(idToken: string): Record<string, unknown> {
  const claims = claimsOf(idToken);
  return Object.fromEntries(names.filter((name) => name in claims).map((name) => [name, claims[name]]));
}

describe('the ID tokens of an application that declares idTokenClaims (OIDC Core §5.4)', () => {
  it.each([
    [['openid'], {}],
    [['openid', 'profile'], { name: 'Ada Lovelace' }],
    [['openid', 'email', 'orders.read'], { email: 'ada@acme.example' }],
    [['openid', 'profile', 'email', 'phone'], { name: 'Ada Lovelace', email: 'ada@acme.example' }],
  ])('have with the scopes %j the claims %j', async (scopes, claims) => {
    const { idToken } = await on.signIn({ clientId, scopes, resource: '' });
    expect(standardClaims(idToken)).toEqual(claims);
  });

  it('have what the user has, and with the claims parameter no less', async () => {
    const scopes = ['openid', 'profile', 'email'];
    const bob = await on.signIn({ clientId, scopes, resource: '', userId: 'bob' });
    expect(standardClaims(bob.idToken)).toEqual({});
    const requested = { scopes: ['openid', 'profile'], resource: '', idTokenClaims: ['phone_number'] };
    const { idToken } = await on.signIn({ clientId, ...requested });
    expect(standardClaims(idToken)).toEqual({ name: 'Ada Lovelace', phone_number: '+46701234567' });
  });

  it('keep them at a refresh, without those of a scope that it leaves out or the application has lost', async () => {
    const scopes = ['openid', 'profile', 'email', 'offline_access'];
    const first = await on.signIn({ clientId, scopes, resource: '' });
    const second = await on.refresh(first.refreshToken, clientId);
    expect(standardClaims(second.idToken)).toEqual({ name: 'Ada Lovelace', email: 'ada@acme.example' });
    const narrowed = await on.refresh(second.refreshToken, clientId, { scope: 'openid email' });
    expect(standardClaims(narrowed.idToken)).toEqual({ email: 'ada@acme.example' });
    await on.directory.changeApplication(clientId, (record) => {
      record.scopes = record.scopes.filter(({ name }) => name !== 'email');
    });
    const third = await on.refresh(narrowed.refreshToken, clientId);
    expect(standardClaims(third.idToken)).toEqual({ name: 'Ada Lovelace' });
  });

  it('of other applications have none', async () => {
    const { idToken } = await on.signIn({ scopes: ['openid', 'profile', 'email'], resource: '' });
    expect(standardClaims(idToken)).toEqual({});
  });
});
