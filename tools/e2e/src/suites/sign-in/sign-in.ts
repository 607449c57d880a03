import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { tokensOf } from '@tessera/test-client';
import { authorizeQuery, codeFor, redeem } from '../../harness/flows.ts';
import { people } from '../../harness/declared-state.ts';

/** Signing in, and what a session is good for. */
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
      // Normalizing all of them took four seconds each time, in which no other request was answered.
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
  });
}
