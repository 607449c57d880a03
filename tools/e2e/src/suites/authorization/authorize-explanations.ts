import { describe, expect, it } from 'vitest';
import { authorizeQuery, clientCredentials } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

/** What the person, the developer and the log learn of a refusal. */
export function authorizeExplanationsSuite(system: () => System): void {
  const ask = async (overrides: Record<string, string | undefined>, accept = 'application/json') =>
    system().http.ask('GET', `/authorize?${authorizeQuery(overrides)}`, { headers: { accept } });

  describe('a refusal of GET /authorize', () => {
    it('shows a page to a browser, with the same message for its developer', async () => {
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
        expect(page.text).toContain('<p role="alert">The application sent a sign-in request');
        const [, refusal, said] =
          /<code lang="en" dir="ltr">([^<]+)<\/code><\/p>\n<p>([^<]+)</.exec(page.text) ?? [];
        expect(refusal).toBe(message);
        expect(said).toContain(hint);
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
          {
            clientId: 'acme-web',
            phase: 'redirect_uri',
            reason: /not registered/,
            received: 'https://evil.example/',
          },
        ],
        [
          await clientCredentials(http, 'acme-service', 'standard', wrong),
          { clientId: 'acme-service', phase: 'client', reason: /secret_mismatch/ },
        ],
        [await clientCredentials(http, secret), { clientId: 'unknown_client', phase: 'client', reason: /./ }],
        [
          await clientCredentials(http, 'acme-service', 'contract', { scope: 'no.such' }),
          { clientId: 'acme-service', phase: 'scope', reason: /not granted/, received: 'no.such' },
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
          ...('received' in expected && { received: expected.received }),
        });
        expect(answer.text).not.toMatch(/phase|unknown_client|acme-/);
      }
    });
  });
}
