import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { authorizeQuery, codeFor, expectError, redeem } from '../../harness/flows.ts';

/** GET /logout: the session ends and the browser goes only where the application registered. */
export function logoutSuite(system: () => System): void {
  const first = 'http://127.0.0.1:9000/bye';
  const path = (parameters: Record<string, string>): string =>
    `/logout?${new URLSearchParams(parameters).toString()}`;

  describe('GET /logout', () => {
    it('ends the session and adds logged_out=1 to a registered URI', async () => {
      const person = system().person();
      await codeFor(person);
      const answer = await person.get(
        path({ client_id: 'acme-web', post_logout_redirect_uri: `${first}?a=1#done` }),
      );
      expect(answer.status).toBe(302);
      expect(answer.header('location')).toBe(`${first}?a=1&logged_out=1#done`);
      const next = await person.get(`/authorize?${authorizeQuery()}`);
      expect(next.header('location')).toMatch(/^\/login\?/);
    });

    it('ends a copied session cookie as well', async () => {
      const person = system().person();
      await codeFor(person);
      const copy = system().person();
      for (const [name, value] of person.cookies) copy.cookies.set(name, value);
      await person.get(path({ client_id: 'acme-web' }));
      const answer = await copy.get(`/authorize?${authorizeQuery()}`);
      expect(answer.header('location')).toMatch(/^\/login\?/);
    });

    it('drops the codes of the session that were not redeemed yet', async () => {
      const person = system().person();
      const code = await codeFor(person);
      await person.get(path({ client_id: 'acme-web' }));
      expectError(await redeem(system().http, code), 400, 'invalid_grant');
    });

    it.each([
      'https://evil.example/',
      'javascript:alert(1)',
      `${first}/`,
      `${first}?a=1`,
      '//evil.example',
      '',
    ])('ignores the unregistered URI %j and uses the first registered one', async (uri) => {
      const answer = await system()
        .person()
        .get(path({ client_id: 'acme-web', post_logout_redirect_uri: uri }));
      expect(answer.status).toBe(302);
      expect(answer.header('location')).toBe(`${first}?logged_out=1`);
    });

    it('sends an unknown client to /login, which says that the person is signed out', async () => {
      const requests: Record<string, string>[] = [
        { client_id: 'nobody', post_logout_redirect_uri: first },
        {},
      ];
      for (const parameters of requests) {
        const person = system().person();
        await codeFor(person);
        const answer = await person.get(path(parameters));
        expect(answer.status).toBe(302);
        expect(answer.header('location')).toBe('/login');
        const page = await person.get('/login');
        expect(page.status).toBe(200);
        expect(page.text.toLowerCase()).toContain('signed out');
      }
    });

    it('works without a session', async () => {
      const answer = await system()
        .person()
        .get(path({ client_id: 'acme-web' }));
      expect(answer.header('location')).toBe(`${first}?logged_out=1`);
    });
  });
}
