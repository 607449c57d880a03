import { describe, expect, it } from 'vitest';
import { testDatabase } from '@tessera/test-kit';
import { migrations } from './wiring.ts';
import { signedToken } from './testing/fake-keys.ts';
import { call, caller, claimsOf, codeOf, credentialsOf, issuer, world } from './testing/world.ts';

describe('the configured issuer', () => {
  const elsewhere = 'https://other.example';

  it('does not redeem a grant of another issuer, and consumes nothing', async () => {
    const database = await testDatabase(migrations);
    const before = await world({ runtime: { database } });
    const one = await world({ settings: { TESSERA_ISSUER: issuer }, runtime: { database } });
    const { refreshToken } = await before.signIn({ issuer: elsewhere });
    expect(await codeOf(one.refresh(refreshToken))).toBe('invalid_grant');
    await before.elapse(3600);
    const successor = (await before.refresh(refreshToken)).refreshToken;
    expect(claimsOf((await before.refresh(successor)).accessToken)['iss']).toBe(elsewhere);
    const code = one.newCode({ issuer: elsewhere });
    expect(await codeOf(one.redeem(code))).toBe('invalid_grant');
    const markers = { name: 'test.markers', text: 'SELECT 1 FROM token.redemption' };
    expect((await database.query(markers)).rowCount).toBe(1);
    await Promise.all([before.close(), one.close()]);
  });

  it('redeems its own grants, whatever host the request came to', async () => {
    const one = await world({ settings: { TESSERA_ISSUER: issuer } });
    const credentials = credentialsOf('web');
    const { refreshToken } = await one.signIn();
    const request = { grantType: 'refresh_token', refreshToken, credentials };
    const asked = one.token.exchange({ ...request, caller: { ...caller, issuer: elsewhere } }, call());
    expect(claimsOf((await asked).accessToken)['iss']).toBe(issuer);
    await one.close();
  });

  it('is the only one whose tokens are active', async () => {
    const database = await testDatabase(migrations);
    const hosts = await world({ runtime: { database } });
    const one = await world({ settings: { TESSERA_ISSUER: issuer }, runtime: { database } });
    const own = await one.signIn();
    const header = { alg: 'RS256', kid: one.key.kid, typ: 'at+jwt' };
    const foreign = signedToken(one.key, header, { ...claimsOf(own.accessToken), iss: elsewhere });
    const { refreshToken } = await hosts.signIn({ issuer: elsewhere });
    for (const from of [caller, { ...caller, issuer: elsewhere }, undefined]) {
      const active = async (token: string) =>
        (await one.introspection.introspect({ token, ...(from && { caller: from }) }, call())).active;
      expect(await active(own.accessToken)).toBe(true);
      expect(await active(own.refreshToken)).toBe(true);
      expect(await active(foreign)).toBe(false);
      expect(await active(refreshToken)).toBe(false);
    }
    await Promise.all([hosts.close(), one.close()]);
  });

  it('is, if none is configured, the issuer that the introspection was sent to', async () => {
    const hosts = await world();
    const { accessToken } = await hosts.signIn();
    const active = async (from?: typeof caller) => {
      const asked = { token: accessToken, ...(from && { caller: from }) };
      return (await hosts.introspection.introspect(asked, call())).active;
    };
    expect(await active({ ...caller, issuer: elsewhere })).toBe(false);
    expect(await active(caller)).toBe(true);
    expect(await active()).toBe(true);
    await hosts.close();
  });
});
