import { describe, expect, it } from 'vitest';
import { parseForms } from '@tessera/test-kit/provision';
import { authorizeQuery, clientCredentials } from '../harness/flows.ts';
import type { System } from '../harness/set-up.ts';
import { people, redirectUri } from '../harness/declared-state.ts';

/** The authorization endpoint: what it refuses, what it sends back, what a session changes. */
export function authorizeSuite(system: () => System): void {
  const ask = async (overrides: Record<string, string | undefined>, accept = 'application/json') =>
    system().http.ask('GET', `/authorize?${authorizeQuery(overrides)}`, { headers: { accept } });

  describe('GET /authorize', () => {
    it.each(['client_id', 'redirect_uri', 'response_type', 'scope'])(
      'answers 400 with the message of the contract when %s is missing',
      async (name) => {
        const answer = await ask({ [name]: undefined });
        expect(answer.status).toBe(400);
        expect(answer.json()).toMatchObject({
          isSuccess: false,
          message: 'Missing required OAuth parameters.',
        });
      },
    );

    it.each(['token', 'id_token', 'code token', 'CODE'])('answers 400 to response_type %s', async (type) => {
      const answer = await ask({ response_type: type });
      expect(answer.status).toBe(400);
      expect(answer.json()['message']).toBe('Only response_type=code is supported.');
    });

    it.each(['code_challenge', 'code_challenge_method'])(
      'answers 400 with the message of the contract when %s is missing (RFC 7636 section 4.4.1)',
      async (name) => {
        const answer = await ask({ [name]: undefined });
        expect(answer.status).toBe(400);
        expect(answer.json()['message']).toBe('Missing PKCE parameters.');
      },
    );

    it.each(['plain', 's256', 'S256 ', 'S512'])(
      'refuses code_challenge_method %s (RFC 9700 section 2.1.1)',
      async (method) => {
        expect((await ask({ code_challenge_method: method })).status).toBe(400);
      },
    );

    it.each([
      'http://127.0.0.1:9000/callback/',
      'http://127.0.0.1:9001/callback',
      'http://127.0.0.1:9000/Callback',
      'http://127.0.0.1:9000/callback?x=1',
      'http://127.0.0.1:9000/c%61llback',
      'http://127.0.0.1:9000/x/../callback',
      'http://user@127.0.0.1:9000/callback',
      'http://127.0.0.1:9000/callback#f',
      'https://evil.example/callback',
    ])('refuses the unregistered redirect URI %s without a redirect (RFC 9700 section 4.1)', async (uri) => {
      const answer = await ask({ redirect_uri: uri });
      expect(answer.status).toBe(400);
      expect(answer.header('location')).toBeUndefined();
    });

    it('refuses an unknown client without a redirect', async () => {
      const answer = await ask({ client_id: 'nobody', scope: 'nonsense' });
      expect(answer.status).toBe(400);
      expect(answer.header('location')).toBeUndefined();
    });

    it('refuses a repeated parameter, whichever comes first (RFC 6749 section 3.1)', async () => {
      for (const extra of [
        'redirect_uri=https%3A%2F%2Fevil.example',
        'client_id=acme-spa',
        'state=b',
        'code_challenge=x',
      ]) {
        for (const query of [`${authorizeQuery()}&${extra}`, `${extra}&${authorizeQuery()}`]) {
          const answer = await system().http.ask('GET', `/authorize?${query}`);
          expect(answer.status, extra).toBe(400);
          expect(answer.header('location')).toBeUndefined();
        }
      }
    });

    it('shows a page with the same message to a browser', async () => {
      const answer = await ask({ scope: undefined }, 'text/html');
      expect(answer.status).toBe(400);
      expect(answer.header('content-type')).toContain('text/html');
      expect(answer.text).toContain('Missing required OAuth parameters.');
      expect(answer.header('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(answer.header('content-security-policy')).not.toContain('unsafe-inline');
      expect(answer.header('referrer-policy')).toBe('no-referrer');
      expect(answer.header('cache-control')).toBe('no-store');
    });

    it.each([
      [{ scope: undefined }, 'Missing required OAuth parameters.', 'response_type=code and scope'],
      [{ response_type: 'token' }, 'Only response_type=code is supported.', 'Set response_type to code'],
      [{ code_challenge: undefined }, 'Missing PKCE parameters.', 'code_challenge_method=S256'],
      [{ code_challenge_method: 'plain' }, 'Only code_challenge_method=S256 is supported.', 'to S256'],
      [{ client_id: 'nobody' }, 'The client is not known.', 'Compare client_id'],
      [{ redirect_uri: 'https://x.example' }, 'The redirect_uri is not registered for this client.', 'slash'],
    ])(
      'tells the developer of a client that sent %j what to set, in HTML only',
      async (overrides, message, hint) => {
        const page = await ask(overrides, 'text/html');
        expect(page.text).toContain(`<p role="alert">${message}</p>`);
        expect(/<p>For the developer of the application: ([^<]+)</.exec(page.text)?.[1]).toContain(hint);
        const json = await ask(overrides);
        expect(json.json()).toEqual({
          isSuccess: false,
          error: expect.stringMatching(/^(invalid_request|unsupported_response_type)$/) as string,
          message,
        });
      },
    );

    it('says in the access log who was refused, where and why, and not in the response', async () => {
      const { http } = system();
      const secret = 'pasted-into-client-id-0123456789-0123456789';
      http.seen.add(secret);
      const wrong = { clientSecret: 'not-the-secret-not-the-secret-not-the-secret' };
      for (const [answer, expected] of [
        [
          await ask({ redirect_uri: 'https://evil.example/' }),
          { clientId: 'acme-web', phase: 'redirect_uri', reason: /not registered/ },
        ],
        [
          await clientCredentials(http, 'acme-service', 'standard', wrong),
          { clientId: 'acme-service', phase: 'client', reason: /invalid_client/ },
        ],
        [await clientCredentials(http, secret), { clientId: 'unknown_client', phase: 'client', reason: /./ }],
        [
          await clientCredentials(http, 'acme-service', 'contract', { scope: 'no.such' }),
          { clientId: 'acme-service', phase: 'scope', reason: /not granted/ },
        ],
      ] as const) {
        const id = answer.header('x-request-id') ?? '';
        const line = () =>
          system()
            .output()
            .split('\n')
            .find((one) => one.includes(id) && one.includes('"message":"request"'));
        await expect.poll(line).toBeDefined();
        expect(JSON.parse(line() ?? '{}')).toMatchObject({
          requestId: id,
          status: answer.status,
          errorCode: answer.json()['error'],
          clientId: expected.clientId,
          phase: expected.phase,
          reason: expect.stringMatching(expected.reason) as string,
        });
        expect(answer.text).not.toMatch(/phase|unknown_client|acme-/);
      }
    });

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
