import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Status } from '@tessera/proto-gen/directory';
import { createWorld, password } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { redemption, newPerson, signInAtPage } from '../testing/visitor.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

interface Asked {
  readonly clientId?: string;
  readonly postLogoutRedirectUri?: string;
  readonly state?: string;
  readonly hintedClientId?: string;
  readonly refuseFallback?: boolean;
  readonly refuseUnregistered?: boolean;
}

async function locationOf(asked: Asked): Promise<string> {
  const { location } = await world.gateway.endSession({ browser: newPerson(world).context(), ...asked });
  return location;
}

const web = { clientId: 'acme-web' };

describe('where a logout leads (contract, GET /logout)', () => {
  it('goes to a registered URI with logged_out=1, by default the first one', async () => {
    const asked = { ...web, postLogoutRedirectUri: 'https://app.example/' };
    expect(await locationOf(asked)).toBe('https://app.example/?logged_out=1');
    expect(await locationOf(web)).toBe('https://app.example/?logged_out=1');
  });

  it('appends to the registered URI and keeps its query and fragment', async () => {
    const asked = { ...web, postLogoutRedirectUri: 'https://app.example/x?a=1#f' };
    expect(await locationOf(asked)).toBe('https://app.example/x?a=1&logged_out=1#f');
  });

  it('returns state unchanged (OIDC RP-Initiated Logout §3)', async () => {
    const location = await locationOf({ ...web, state: 's &\r\nX: y' });
    expect(new URL(location).searchParams.get('state')).toBe('s &\r\nX: y');
    expect(location).not.toMatch(/[\r\n]/);
  });

  it.each([
    'https://app.example',
    'https://app.example//',
    'https://app.example/?logged_out=1',
    'https://app.example.evil.test/',
    'https://APP.example/',
    'https://umbra.example/',
    'javascript:alert(1)',
    '//evil.example',
    '/login',
  ])('ignores %s and falls back to the first registered URI; strict shows our page', async (uri) => {
    const asked = { ...web, postLogoutRedirectUri: uri };
    expect(await locationOf(asked)).toBe('https://app.example/?logged_out=1');
    expect(await locationOf({ ...asked, refuseFallback: true })).toBe('');
    const rows = await world.audited('logout.redirect.rejected');
    expect(rows.at(-1)).toMatchObject({ clientId: 'acme-web', tenantId: 'acme', reason: 'not_registered' });
  });

  it('strict adds only state, and goes nowhere if no URI was requested (OIDC RP-Initiated Logout §3)', async () => {
    const strict = { ...web, refuseFallback: true, refuseUnregistered: true };
    expect(await locationOf(strict)).toBe('');
    const asked = { ...strict, postLogoutRedirectUri: 'https://app.example/' };
    expect(await locationOf(asked)).toBe('https://app.example/');
    expect(await locationOf({ ...asked, state: 's' })).toBe('https://app.example/?state=s');
  });

  it('refuses an unregistered URI on request and ends nothing', async () => {
    const person = newPerson(world);
    await person.signIn();
    const browser = person.context();
    const asked = { ...web, postLogoutRedirectUri: 'https://evil.example/', refuseUnregistered: true };
    const refused = await world.gateway.endSession({ browser, ...asked });
    expect(refused).toMatchObject({ redirectUriRefused: true, location: '', sessionEnded: false });
    expect((await world.gateway.getSession({ browser })).session).toBeDefined();
    const rows = await world.audited('logout.redirect.rejected');
    expect(rows.at(-1)).toMatchObject({ clientId: 'acme-web', reason: 'not_registered' });
  });

  it('shows our own page for an unknown, disabled or unnamed client, and one without logout URIs', async () => {
    const postLogoutRedirectUri = 'https://app.example/';
    expect(await locationOf({ clientId: 'nobody', postLogoutRedirectUri })).toBe('');
    expect(await locationOf({ postLogoutRedirectUri })).toBe('');
    expect(await locationOf({ clientId: 'acme-spa', postLogoutRedirectUri })).toBe('');
    await world.directory.changeApplication('umbra-web', { status: Status.DISABLED });
    expect(await locationOf({ clientId: 'umbra-web' })).toBe('');
    await world.directory.changeApplication('umbra-web', { status: Status.ACTIVE });
    expect(await locationOf({ clientId: 'umbra-web' })).toBe('https://umbra.example/?logged_out=1');
  });

  it('finds the client by a valid hint, and none if hint and client_id differ (OIDC RP-Initiated Logout §2)', async () => {
    expect(await locationOf({ hintedClientId: 'acme-web' })).toBe('https://app.example/?logged_out=1');
    expect(await locationOf({ ...web, hintedClientId: 'acme-web' })).not.toBe('');
    expect(await locationOf({ ...web, hintedClientId: 'umbra-web' })).toBe('');
  });

  it('goes below the beginning of a URI where the client has one registered', async () => {
    const prefixes = ['https://spa.example/app/'];
    await world.directory.changeApplication('acme-spa', { logoutRedirectUriPrefixes: prefixes });
    const spa = { clientId: 'acme-spa', refuseFallback: true };
    const below = { ...spa, postLogoutRedirectUri: 'https://spa.example/app/orders' };
    expect(await locationOf(below)).toBe('https://spa.example/app/orders');
    const beside = { ...spa, postLogoutRedirectUri: 'https://spa.example/app/../evil' };
    expect(await locationOf(beside)).toBe('');
    expect(await locationOf({ ...beside, refuseFallback: false })).toBe('');
    await world.directory.changeApplication('acme-spa', { logoutRedirectUriPrefixes: [] });
  });
});

describe('the end of a session', () => {
  it('is final, is recorded once, and can be requested again', async () => {
    const person = newPerson(world);
    await person.signIn();
    const browser = person.context();
    const { session } = await world.gateway.getSession({ browser });
    const first = await world.gateway.endSession({ browser });
    const second = await world.gateway.endSession({ browser });
    expect([first.sessionEnded, second.sessionEnded]).toEqual([true, false]);
    const over = { tenantId: 'acme', sessionId: session?.sessionId, earlierSessionIds: [] };
    expect([first, second]).toMatchObject([over, over]);
    expect((await world.gateway.getSession({ browser })).session).toBeUndefined();
    expect((await person.start()).next.case).toBe('interaction');
    const rows = (await world.audited('session.ended')).filter(
      (row) => row['sessionId'] === session?.sessionId,
    );
    expect(rows).toMatchObject([{ reason: 'logout', subject: 'acme-ada', ipAddress: person.ipAddress }]);
  });

  it('names the earlier sessions too, each time it is requested, whatever Redis lost (SES-7, F2)', async () => {
    const person = newPerson(world);
    const before: (string | undefined)[] = [];
    for (let time = 0; time < 3; time += 1) {
      await person.signIn({ prompt: 'login' });
      const { session } = await world.gateway.getSession({ browser: person.context() });
      before.unshift(session?.sessionId);
    }
    const [sessionId, ...earlierSessionIds] = before;
    await world.redis.call('DEL', `authorize:session-codes:${sessionId}`);
    for (let time = 0; time < 2; time += 1) {
      const over = await world.gateway.endSession({ browser: person.context() });
      expect(over).toMatchObject({ tenantId: 'acme', sessionId, earlierSessionIds });
    }
  });

  it('happens even if the client is unknown', async () => {
    const person = newPerson(world);
    await person.signIn();
    const ended = await world.gateway.endSession({ browser: person.context(), clientId: 'nobody' });
    expect(ended).toMatchObject({ location: '', sessionEnded: true });
  });

  it('touches no other session of the same person', async () => {
    const [laptop, phone] = [newPerson(world), newPerson(world)];
    await laptop.signIn();
    await phone.signIn();
    await world.gateway.endSession({ browser: laptop.context() });
    expect((await phone.redirect()).has('code')).toBe(true);
  });

  it('drops the codes of the session, and of no other', async () => {
    const [person, other] = [newPerson(world), newPerson(world)];
    const codes = [await person.signIn(), (await person.redirect()).get('code') ?? ''];
    const foreign = await other.signIn();
    await world.gateway.endSession({ browser: person.context() });
    for (const code of codes) {
      const redeemed = world.token.redeemCode(redemption(code));
      await expect(redeemed).rejects.toMatchObject({ code: 'invalid_grant' });
    }
    await expect(world.token.redeemCode(redemption(foreign))).resolves.toBeDefined();
  });

  it('leaves no code to redeem when it races single sign-on', async () => {
    for (let round = 0; round < 15; round += 1) {
      const person = newPerson(world);
      await person.signIn();
      const begun = Array.from({ length: 6 }, () => person.start());
      await world.gateway.endSession({ browser: person.context() });
      for (const { next } of await Promise.all(begun)) {
        if (next.case !== 'redirect') continue;
        const code = new URL(next.value.location).searchParams.get('code') ?? '';
        const redeemed = world.token.redeemCode(redemption(code));
        await expect(redeemed).rejects.toMatchObject({ code: 'invalid_grant' });
      }
      expect((await person.start()).next.case).toBe('interaction');
    }
  });
});

describe('a session cookie that was renamed to that of another issuer', () => {
  const umbra = { issuer: 'https://login.umbra.example', tenantId: 'umbra' };

  it('is not a session there: it is not found, and neither signing out nor signing in there ends it', async () => {
    const own = await createWorld();
    const person = newPerson(own);
    await person.signIn();
    const moved = { ...person.context(), ...umbra };
    expect((await own.gateway.getSession({ browser: moved })).session).toBeUndefined();
    const there = await own.gateway.endSession({ browser: moved });
    expect(there).toMatchObject({ sessionEnded: false, sessionId: '', tenantId: '' });
    expect((await own.gateway.getSession({ browser: person.context() })).session).toBeDefined();

    // Nor does signing in there.
    own.directory.addTenant('umbra', { issuer: umbra.issuer });
    await own.directory.changeTenant('umbra', Status.ACTIVE);
    const attempt = { tenantId: 'umbra', identifier: 'ada', password };
    const { session } = await signInAtPage(own, { browser: moved, ...attempt });
    expect(session?.sessionToken).toBeDefined();
    expect(session?.ended).toBeUndefined();
    expect((await own.gateway.getSession({ browser: person.context() })).session).toBeDefined();

    // The tenant moves to an issuer of its own; its session is none at the shared one.
    own.directory.addTenant('acme', { issuer: 'https://login.acme.example' });
    await own.directory.changeTenant('acme', Status.ACTIVE);
    const shared = await own.gateway.endSession({ browser: person.context() });
    expect(shared).toMatchObject({ sessionEnded: false, sessionId: '' });
    const acme = { ...person.context(), issuer: 'https://login.acme.example', tenantId: 'acme' };
    expect(await own.gateway.endSession({ browser: acme })).toMatchObject({ sessionEnded: true });
    await own.service.close();
  });
});
