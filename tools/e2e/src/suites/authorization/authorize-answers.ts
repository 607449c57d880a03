import { describe, expect, it } from 'vitest';
import { parseForms } from '@tessera/test-kit/provision';
import { authorizeQuery } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';
import { people, redirectUri } from '../../harness/declared-state.ts';

/** What `/authorize` sends back to the client. */
export function authorizeAnswersSuite(system: () => System): void {
  const ask = async (overrides: Record<string, string | undefined>, accept = 'application/json') =>
    system().http.ask('GET', `/authorize?${authorizeQuery(overrides)}`, { headers: { accept } });

  describe('the answer of GET /authorize', () => {
    it.each([
      [{ scope: 'openid orders.delete' }, 'invalid_scope'],
      [{ scope: 'billing.read' }, 'invalid_scope'],
      [{ resource: 'https://stock.globex.example' }, 'invalid_target'],
      [{ prompt: 'none' }, 'login_required'],
      [{ request_uri: 'http://127.0.0.1:1/canary' }, 'request_uri_not_supported'],
      [{ request: 'e30.e30.' }, 'request_not_supported'],
    ])(
      'sends %j back to the known client as %s, with state and iss (RFC 9207 section 2)',
      async (overrides, error) => {
        const answer = await ask(overrides);
        expect(answer.status).toBe(302);
        const location = new URL(answer.header('location') ?? '');
        expect(location.href.startsWith(`${redirectUri}?`)).toBe(true);
        expect(location.searchParams.get('error')).toBe(error);
        expect(location.searchParams.get('state')).toBe('a-state');
        expect(location.searchParams.get('iss')).toBe(system().baseUrl);
        expect(location.searchParams.get('code')).toBeNull();
      },
    );

    it('returns a form with code, state and iss for response_mode=form_post (OAuth 2.0 Form Post Response Mode)', async () => {
      const person = system().person();
      const query = authorizeQuery({ response_mode: 'form_post', state: '"><b>' });
      const answer = await person.authorize(query, people.ada);
      expect([answer.status, answer.header('cache-control')]).toEqual([200, 'no-store']);
      expect(answer.header('content-security-policy')).toContain(
        `form-action ${new URL(redirectUri).origin}`,
      );
      const [form] = parseForms(answer.text, new URL(system().baseUrl));
      expect([form?.method, form?.action.href]).toEqual(['POST', redirectUri]);
      expect(Object.fromEntries(form?.fields ?? [])).toEqual({
        code: expect.stringMatching(/^tc_/) as string,
        state: '"><b>',
        iss: system().baseUrl,
      });
      const error = await person.authorize(authorizeQuery({ response_mode: 'form_post', scope: 'nonsense' }));
      const [refused] = parseForms(error.text, new URL(system().baseUrl));
      expect(refused?.fields.get('error')).toBe('invalid_scope');
    });

    it('returns code, state unchanged and iss after sign-in (RFC 6749 section 4.1.2)', async () => {
      const person = system().person();
      const state = `"><script>alert(1)</script> ä ${'s'.repeat(200)}`;
      const answer = await person.authorize(authorizeQuery({ state }), people.ada);
      expect(answer.status).toBe(302);
      const location = new URL(answer.header('location') ?? '');
      expect(location.searchParams.get('state')).toBe(state);
      expect(location.searchParams.get('iss')).toBe(system().baseUrl);
    });

    it('keeps the query of a registered redirect URI as it is', async () => {
      const person = system().person();
      const answer = await person.authorize(
        authorizeQuery({ redirect_uri: `${redirectUri}?fixed=1` }),
        people.ada,
      );
      expect(answer.header('location')?.startsWith(`${redirectUri}?fixed=1&code=`)).toBe(true);
    });
  });
}
