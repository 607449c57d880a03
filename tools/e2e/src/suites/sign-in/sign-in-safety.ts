import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { formsOf, newPkce, type Person, tokensOf } from '@tessera/test-client';
import { authorizeQuery, codeFor, expectError, redeem } from '../../harness/flows.ts';
import { people } from '../../harness/declared-state.ts';

/** Forms and flow ids of a sign-in that somebody else has, or sends twice. */
export function signInSafetySuite(system: () => System): void {
  describe('the safety of a sign-in', () => {
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
      // The answer is lost: neither its cookies nor its redirect.
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
