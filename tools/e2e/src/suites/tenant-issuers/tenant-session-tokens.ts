import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimsOf, newPkce, type Answer, type Person } from '@tessera/test-client';
import { eventually } from '@tessera/test-kit/provision';
import { people, redirectUri, secrets } from '../../harness/declared-state.ts';
import { authorizeQuery } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';
import type { TenantIssuers } from '../../harness/tenant-issuers.ts';

const below = '/protocol/openid-connect';
const clientId = 'initech-web';
const basic = [clientId, secrets.own] as const;

/** Refresh tokens of a session, where an issuer has the endpoints of Keycloak. */
export function tenantSessionTokens(
  system: () => System,
  { issuers, pathOf, ask, person }: TenantIssuers,
): void {
  describe('with the endpoints of Keycloak', () => {
    const declare = async (ownEndpoints: 'keycloak' | 'standard') => {
      await system().apply({ issuers: issuers(), ownEndpoints });
      const path = ownEndpoints === 'keycloak' ? `${below}/token` : '/token';
      await eventually('the metadata name the endpoint', async () => {
        const { token_endpoint: endpoint } = (
          await ask('initech', 'GET', '/.well-known/openid-configuration')
        ).json();
        return endpoint === issuers().initech + path;
      });
    };
    beforeAll(async () => declare('keycloak'));
    afterAll(async () => declare('standard'));

    const asked = async (browser: Person, overrides: Readonly<Record<string, string>>): Promise<Answer> => {
      const query = authorizeQuery({ client_id: clientId, scope: 'openid things.read', ...overrides });
      return browser.get(`${pathOf('initech')}${below}/auth?${query}`);
    };
    const form = async (path: string, fields: Readonly<Record<string, string>>): Promise<Answer> =>
      ask('initech', 'POST', below + path, { form: fields, basic });
    const refresh = async (token: string) =>
      form('/token', { grant_type: 'refresh_token', refresh_token: token });
    const refreshTokenOf = (answer: Answer) => String(answer.json()['refresh_token']);

    async function signIn() {
      const browser = person('initech');
      const { verifier, challenge } = newPkce();
      const started = await asked(browser, { code_challenge: challenge });
      const { username: identifier, password } = people.gus;
      const answer = await browser.submit(started.header('location') ?? '', { identifier, password });
      const code = new URL(answer.header('location') ?? '').searchParams.get('code') ?? '';
      const redeemed = {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
      };
      return { browser, tokens: await form('/token', redeemed) };
    }

    it('a refresh token of the session is given without `offline_access`, once for twenty parallel uses', async () => {
      const { tokens } = await signIn();
      const { refresh_expires_in: expiresIn, id_token: idToken } = tokens.json();
      expect(Number(expiresIn)).toBeGreaterThan(60);
      expect(claimsOf(refreshTokenOf(tokens))).toMatchObject({
        typ: 'Refresh',
        iss: issuers().initech,
        azp: clientId,
        sid: claimsOf(String(idToken))['sid'],
      });
      const answers = await Promise.all(
        Array.from({ length: 20 }, async () => refresh(refreshTokenOf(tokens))),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
      const [successor = '', ...others] = new Set(answers.map(refreshTokenOf));
      expect(others).toEqual([]);
      expect((await refresh(successor)).status).toBe(200);
      const reused = await refresh(refreshTokenOf(tokens));
      expect([reused.status, reused.json()['error']]).toEqual([400, 'invalid_grant']);
    });

    it('it ends when the person signs out', async () => {
      const { browser, tokens } = await signIn();
      const next = await refresh(refreshTokenOf(tokens));
      expect(next.status).toBe(200);
      const hint = String(tokens.json()['id_token']);
      await browser.get(`${pathOf('initech')}${below}/logout?client_id=${clientId}&id_token_hint=${hint}`);
      const refused = await refresh(refreshTokenOf(next));
      expect([refused.status, refused.json()['error']]).toEqual([400, 'invalid_grant']);
      const shown = await form('/token/introspect', { token: refreshTokenOf(next) });
      expect(shown.json()).toEqual({ active: false });
    });

    it('it signs the person out at the logout endpoint, without a browser: 204', async () => {
      const { browser, tokens } = await signIn();
      const { challenge } = newPkce();
      const silent = async () => {
        const answer = await asked(browser, { prompt: 'none', code_challenge: challenge });
        return new URL(answer.header('location') ?? '').searchParams.get('error');
      };
      expect(await silent()).toBeNull();
      const token = refreshTokenOf(tokens);
      expect((await form('/logout', { refresh_token: token })).status).toBe(204);
      expect(await silent()).toBe('login_required');
      expect((await refresh(token)).status).toBe(400);
      expect((await form('/logout', { refresh_token: token })).status).toBe(204);
      expect((await form('/logout', { refresh_token: `${token}x` })).status).toBe(400);
    });

    it('is no access token and no ID token', async () => {
      const { tokens } = await signIn();
      const token = refreshTokenOf(tokens);
      const shown = await ask('initech', 'GET', `${below}/userinfo`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(shown.status).toBe(401);
    });
  });
}
