import { describe, expect, it } from 'vitest';
import { authorizeQuery } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

/** What `/authorize` refuses without a redirect. */
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
  });
}
