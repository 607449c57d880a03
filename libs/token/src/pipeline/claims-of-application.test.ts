import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, caller, claimsOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

const clientId = 'mapping';
const targets = { idToken: true, accessToken: true, userinfo: true };

describe('the claims that an application maps', () => {
  beforeAll(() => {
    const { scopes = [], grantTypes = [] } = on.directory.applications.get('web') ?? {};
    on.directory.addApplication(clientId, {
      grantTypes,
      scopes,
      claims: [
        { name: 'groups', idToken: true },
        { name: 'department', attribute: 'department', ...targets },
        // A directory that checks names refuses this one; the token service does not rely on it.
        { name: 'sub', attribute: 'department', ...targets },
        { name: 'client_id', attribute: 'department', accessToken: true },
      ],
    });
    on.directory.addUser('dora', { roles: ['clerk', 'manager'], attributes: { department: ['Sales'] } });
  });

  it('are in the ID token, the access token and userinfo, as each says, and never in the place of our own', async () => {
    const { accessToken, idToken } = await on.signIn({ clientId, userId: 'dora' });
    expect(claimsOf(idToken)).toMatchObject({
      sub: 'dora',
      groups: ['clerk', 'manager'],
      department: ['Sales'],
    });
    const access = claimsOf(accessToken);
    expect(access).toMatchObject({ sub: 'dora', client_id: clientId, department: ['Sales'] });
    expect(access).not.toHaveProperty('groups');
    const info = await on.token.userInfo({ accessToken, caller }, call());
    expect(info).toMatchObject({ sub: 'dora', claims: { department: ['Sales'] } });
    expect(info.claims).not.toHaveProperty('groups');
    expect(await on.introspect(accessToken)).toMatchObject({ active: true, sub: 'dora' });
  });

  it('follow the user at a refresh', async () => {
    const first = await on.signIn({ clientId, userId: 'dora' });
    await on.directory.changeUser('dora', { roles: ['clerk'], attributes: { department: 'Stock' } });
    const second = await on.refresh(first.refreshToken, clientId);
    expect(claimsOf(second.idToken)).toMatchObject({ groups: ['clerk'], department: 'Stock' });
  });

  it('are absent without a user, and for a user without values', async () => {
    const own = await on.exchange(clientId, { grantType: 'client_credentials', scope: 'orders.read' });
    expect(claimsOf(own.accessToken)).toMatchObject({ sub: clientId, client_id: clientId });
    expect(claimsOf(own.accessToken)).not.toHaveProperty('department');
    const { idToken } = await on.signIn({ clientId, userId: 'bob' });
    for (const name of ['groups', 'department']) expect(claimsOf(idToken)).not.toHaveProperty(name);
  });
});
