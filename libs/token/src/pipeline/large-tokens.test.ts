import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger, metrics } from '@tessera/telemetry';
import { orders } from '../testing/declared-records.ts';
import { call, caller, claimsOf, codeOf, world, type World } from '../testing/world.ts';

const roles = Array.from({ length: 700 }, (_, index) => `department-${index}-of-the-company`);
const targets = { idToken: true, accessToken: true, userinfo: true };

let on: World;
const lines: string[] = [];
beforeAll(async () => {
  const log = createLogger(
    { service: 'token', level: 'info' },
    { write: (line: string) => void lines.push(line) },
  );
  on = await world({ runtime: { log } });
  const { scopes = [], grantTypes = [] } = on.directory.applications.get('web') ?? {};
  const groups = [{ name: 'groups', ...targets }];
  on.directory.addApplication('all', { grantTypes, scopes, claims: groups });
  on.directory.addApplication('loud', { grantTypes, scopes, claims: groups });
  on.directory.addApplication('few', { grantTypes, scopes, claims: groups, roles: ['clerk', 'boss'] });
  const limited = scopes.map((scope) => (scope.audience === orders ? { ...scope, roles: ['boss'] } : scope));
  on.directory.addApplication('both', {
    grantTypes,
    scopes: limited,
    claims: groups,
    roles: ['clerk', 'boss'],
  });
  on.directory.addUser('max', { roles: ['clerk', ...roles, 'boss'] });
});
afterAll(() => on.close());

const signIn = (clientId: string, more: object = {}) => on.signIn({ clientId, userId: 'max', ...more });
const counted = async (type: string) =>
  Number(
    new RegExp(`tessera_large_tokens_total\\{type="${type}"\\} (\\d+)`).exec(await metrics.text())?.[1] ?? 0,
  );

describe('the tokens of a person with 700 roles', () => {
  it('are accepted by what issued them', async () => {
    const { accessToken, idToken } = await signIn('all');
    expect(accessToken.length).toBeGreaterThan(48 * 1024);
    for (let time = 0; time < 2; time += 1) {
      expect(await on.introspect(accessToken)).toMatchObject({
        active: true,
        role: ['clerk', ...roles, 'boss'],
      });
    }
    expect((await on.token.userInfo({ accessToken, caller }, call())).sub).toBe('max');
    expect(await on.token.verifyIdTokenHint({ idToken, caller }, call())).toMatchObject({
      valid: true,
      sub: 'max',
    });
    const forged = `${accessToken.slice(0, -4)}AAAA`;
    expect((await on.introspect(forged)).active).toBe(false);
    expect(await codeOf(on.token.userInfo({ accessToken: 'x'.repeat(61 * 1024), caller }, call()))).toBe(
      'invalid_token',
    );
  });

  it('are counted and logged, without the token, once a minute for each application', async () => {
    const before = [await counted('access_token'), await counted('id_token')];
    lines.length = 0;
    const { accessToken, idToken } = await signIn('loud');
    await signIn('loud');
    await signIn('few');
    expect([await counted('access_token'), await counted('id_token')]).toEqual(
      before.map((count) => count + 2),
    );
    const about = lines.filter((line) => line.includes('servers may refuse'));
    const fields = { level: 'warn', clientId: 'loud', tenantId: 'acme' };
    expect(about.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { ...fields, type: 'access_token', bytes: accessToken.length },
      { ...fields, type: 'id_token', bytes: idToken.length },
    ]);
    for (const token of [accessToken, idToken]) expect(lines.join()).not.toContain(token.slice(-40));
  });

  it('have the roles alone that the application lists, in every token and at userinfo', async () => {
    const { accessToken, idToken, refreshToken } = await signIn('few');
    const again = await on.refresh(refreshToken, 'few');
    const few = ['clerk', 'boss'];
    for (const token of [accessToken, again.accessToken])
      expect(claimsOf(token)).toMatchObject({ role: few, groups: few });
    for (const token of [idToken, again.idToken]) expect(claimsOf(token)['groups']).toEqual(few);
    const { claims } = await on.token.userInfo({ accessToken, caller }, call());
    expect(claims).toMatchObject({ groups: few });
  });

  it('have for an API resource the roles alone that it and the application list', async () => {
    const { accessToken, idToken } = await signIn('both');
    expect(claimsOf(accessToken)).toMatchObject({ aud: orders, role: ['boss'], groups: ['boss'] });
    expect(claimsOf(idToken)['groups']).toEqual(['clerk', 'boss']);
    const { accessToken: ofIssuer } = await signIn('both', { scopes: ['openid'], resource: '' });
    expect(claimsOf(ofIssuer)['role']).toEqual(['clerk', 'boss']);
  });

  it('leave the access policy to all of the roles', async () => {
    await on.directory.changeApplication('few', (record) => (record.allowedRoles = [roles[3] ?? '']));
    expect(claimsOf((await signIn('few')).accessToken)['role']).toEqual(['clerk', 'boss']);
    await on.directory.changeApplication('few', (record) => (record.allowedRoles = []));
  });
});
