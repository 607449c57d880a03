import { describe, expect, it } from 'vitest';
import { parseForms } from '@tessera/test-kit/provision';
import type { System } from '../harness/set-up.ts';
import { authorizeQuery } from '../harness/person.ts';
import { people, redirectUri } from '../harness/declared-state.ts';
import { codeFor, redeem, tokensOf } from '../harness/flows.ts';

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
