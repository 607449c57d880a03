import { describe, expect, it } from 'vitest';
import type { System } from '../harness/set-up.ts';
import { formsOf, newPkce, type Person, tokensOf } from '@tessera/test-client';
import { authorizeQuery, codeFor, expectError, redeem } from '../harness/flows.ts';
import { people } from '../harness/declared-state.ts';

/** Sign-in on the page, and the session that it starts. */
export function signInSuite(system: () => System): void {
  describe('sign-in and session', () => {
    it('answers a wrong password and an unknown user with the same page', async () => {
      const texts: string[] = [];
      for (const identifier of ['ada', 'no-such-person']) {
        const person = system().person();
        const started = await person.get(`/authorize?${authorizeQuery()}`);
        const answer = await person.submit(started.header('location') ?? '', {
          identifier,
          password: 'wrong-password-guess',
        });
        expect(answer.status).toBe(401);
        expect(answer.header('location')).toBeUndefined();
        texts.push(answer.text.replaceAll(/value="[^"]*"|interaction=[\w-]+/g, ''));
      }
      expect(texts[0]).toBe(texts[1]);
    });

    it('answers 62 KB of combining marks as quickly as any wrong password', async () => {
      const marks = `a${'\u0315'.repeat(5_200)}${'\u0327'.repeat(5_200)}`;
      const timed = async (identifier: string) => {
        const started = performance.now();
        const person = system().person();
        const answer = await person.authorize(authorizeQuery(), { username: identifier, password: 'wrong' });
        expect(answer.status).toBe(401);
        return performance.now() - started;
      };
      // Normalizing all of them took four seconds each time, in which nobody else was answered.
      let ordinary = 0;
      let hostile = 0;
      for (let round = 0; round < 4; round += 1) {
        ordinary += await timed('nobody');
        hostile += await timed(marks);
      }
      expect(hostile).toBeLessThan(ordinary + 8_000);
    });

    it('signs in by e-mail address and by phone number too', async () => {
      for (const identifier of [people.ada.email, '+46701234567']) {
        await codeFor(
          system().person(),
          'acme-web',
          {},
          { username: identifier, password: people.ada.password },
        );
      }
    });

    it('gives a second application of the tenant a code without asking again', async () => {
      const person = system().person();
      await codeFor(person, 'acme-web');
      const second = await person.get(`/authorize?${authorizeQuery({ client_id: 'acme-spa' })}`);
      expect(second.status).toBe(302);
      expect(new URL(second.header('location') ?? '').searchParams.get('code')).toBeTruthy();
    });

    it('asks again for prompt=login and max_age=0, and gives a new session id (OIDC Core section 3.1.2.1)', async () => {
      const person = system().person();
      await codeFor(person);
      for (const overrides of [{ prompt: 'login' }, { max_age: '0' }]) {
        const before = [...person.cookies].find(([name]) => name.includes('session'))?.[1];
        const answer = await person.get(`/authorize?${authorizeQuery(overrides)}`);
        expect(answer.header('location')).toMatch(/^\/login\?/);
        await codeFor(person, 'acme-web', overrides);
        const after = [...person.cookies].find(([name]) => name.includes('session'))?.[1];
        expect(after === before).toBe(false);
      }
    });

    it('answers prompt=none with a code while the session lives (OIDC Core section 3.1.2.1)', async () => {
      const person = system().person();
      await codeFor(person);
      const answer = await person.get(`/authorize?${authorizeQuery({ prompt: 'none' })}`);
      expect(new URL(answer.header('location') ?? '').searchParams.get('code')).toBeTruthy();
    });

    it('gives no code for another person than the id_token_hint names (OIDC Core section 3.1.2.1)', async () => {
      const { http } = system();
      const person = system().person();
      const ada = tokensOf(await redeem(http, await codeFor(person)));
      const bob = tokensOf(await redeem(http, await codeFor(system().person(), 'acme-web', {}, people.bob)));
      const silently = async (hint: string | undefined): Promise<URLSearchParams> => {
        const query = authorizeQuery({ prompt: 'none', id_token_hint: hint });
        return new URL((await person.get(`/authorize?${query}`)).header('location') ?? '').searchParams;
      };
      expect((await silently(ada.idToken)).has('code')).toBe(true);
      expect((await silently(bob.idToken)).get('error')).toBe('login_required');
      const eve = await codeFor(system().person(), 'globex-web', { scope: 'openid stock.read' }, people.eve);
      expect((await silently(tokensOf(await redeem(http, eve)).idToken)).get('error')).toBe('login_required');
      for (const hint of ['garbage', ada.accessToken]) {
        expect((await silently(hint)).get('error'), 'not an ID token').toBe('invalid_request');
      }
    });

    it('answers 400 when the session belongs to another tenant, and offers signing out', async () => {
      const person = system().person();
      await codeFor(person);
      const query = authorizeQuery({ client_id: 'globex-web', scope: 'openid stock.read' });
      const page = await person.get(`/authorize?${query}`);
      expect(page.status).toBe(400);
      expect(page.header('location')).toBeUndefined();
      const json = await person.get(`/authorize?${query}`, { accept: 'application/json' });
      expect(json.status).toBe(400);
      expect(json.json()['isSuccess']).toBe(false);
      const next = await person.submit(`/authorize?${query}`, {});
      expect(next.status).toBe(303);
      expect(next.header('location')?.startsWith('/authorize?')).toBe(true);
      const signedIn = await person.authorize(query, people.eve);
      expect(new URL(signedIn.header('location') ?? '').searchParams.get('code')).toBeTruthy();
    });

    it('accepts the same form again if its answer was lost, and voids the code in that answer', async () => {
      const { http } = system();
      const person = system().person();
      const { verifier, challenge } = newPkce();
      const started = await person.get(`/authorize?${authorizeQuery({ code_challenge: challenge })}`);
      const path = started.header('location') ?? '';
      const [form] = formsOf(await person.get(path));
      const fields = { identifier: people.ada.username, password: people.ada.password };
      const submit = async (by: Person) => {
        const answer = await by.post('/login', { ...Object.fromEntries(form?.fields ?? []), ...fields });
        const code = new URL(answer.header('location') ?? '', 'http://x').searchParams.get('code') ?? '';
        return { status: answer.status, code: { code, verifier, clientId: 'acme-web' } };
      };
      // The answer reaches nobody: neither its cookies nor its redirect.
      const offline = system().person();
      for (const [name, value] of person.cookies) offline.cookies.set(name, value);
      const lost = await submit(offline);
      const again = await submit(person);
      expect([lost.status, again.status]).toEqual([302, 302]);
      expectError(await redeem(http, lost.code), 400, 'invalid_grant');
      tokensOf(await redeem(http, again.code));
      expect((await submit(person)).status).toBe(400);
      const silently = await person.get(`/authorize?${authorizeQuery({ prompt: 'none' })}`);
      expect(new URL(silently.header('location') ?? '').searchParams.has('code')).toBe(true);
    });

    it('makes a flow id useless in another browser (security case COD-5)', async () => {
      const one = system().person();
      const started = await one.get(`/authorize?${authorizeQuery()}`);
      const path = started.header('location') ?? '';
      const other = system().person();
      expect((await other.get(path)).text).not.toContain('type="password"');
      const fields = { identifier: people.ada.username, password: people.ada.password };
      const stolen = await other.post('/login', {
        ...fields,
        interaction: new URL(path, 'http://x').searchParams.get('interaction') ?? '',
      });
      expect(stolen.status).toBeGreaterThanOrEqual(400);
      expect(stolen.header('location')).toBeUndefined();
    });

    it('refuses a sign-in without the anti-forgery field or from another site', async () => {
      const person = system().person();
      const started = await person.get(`/authorize?${authorizeQuery()}`);
      const path = started.header('location') ?? '';
      const credentials = { identifier: people.ada.username, password: people.ada.password };
      const bare = await person.post(path, credentials);
      expect(bare.status).toBeGreaterThanOrEqual(400);
      expect(bare.header('location')).toBeUndefined();
      const cookies = new Map(person.cookies);
      const forged = await person.post(path, credentials, {
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
      });
      expect(forged.status).toBeGreaterThanOrEqual(400);
      expect([...person.cookies].some(([name]) => name.includes('session') && !cookies.has(name))).toBe(
        false,
      );
    });

    it('says on /login that nothing is waiting, and asks for no password there', async () => {
      const answer = await system().person().get('/login');
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain('type="password"');
    });
  });
}
