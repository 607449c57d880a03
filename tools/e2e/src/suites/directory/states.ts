import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { claimsOf, dialects, introspect, type Person, tokensOf } from '@tessera/test-client';
import { authorizeQuery, clientCredentials, codeFor, redeem, refresh } from '../../harness/flows.ts';
import { people, type StateOptions } from '../../harness/declared-state.ts';

async function silentCode(person: Person): Promise<string | null> {
  const answer = await person.get(`/authorize?${authorizeQuery()}`);
  return new URL(answer.header('location') ?? '/', 'http://x').searchParams.get('code');
}

/** What a disabled or locked user, application or tenant may still do: nothing, on every path, within a second. */
export function statesSuite(system: () => System): void {
  const bad: [string, StateOptions][] = [
    ['a locked user', { bobStatus: 'locked' }],
    ['a disabled user', { bobStatus: 'disabled' }],
    ['a disabled application', { webStatus: 'disabled' }],
    ['somebody whose password was changed', { bobPassword: 'analytical-engine-1837' }],
  ];

  describe('state of user, application and tenant', () => {
    it.each(bad)(
      'refuses code, refresh and session for %s, for good, and serves who signs in afterwards (REF-7, I3)',
      async (_name, options) => {
        const { http } = system();
        const person = system().person();
        const tokens = tokensOf(await redeem(http, await codeFor(person, 'acme-web', {}, people.bob)));
        const codes = [await codeFor(person), await codeFor(person)];
        await system().apply(options);
        try {
          for (const [at, dialect] of dialects.entries()) {
            expect(
              (await refresh(http, tokens.refreshToken, 'acme-web', dialect)).status,
            ).toBeGreaterThanOrEqual(400);
            const code = codes[at];
            if (code !== undefined)
              expect((await redeem(http, code, dialect)).status).toBeGreaterThanOrEqual(400);
          }
          expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
          expect(await silentCode(person)).toBeNull();
        } finally {
          await system().apply({});
        }
        expect((await refresh(http, tokens.refreshToken)).status).toBe(400);
        for (const code of codes) expect((await redeem(http, code)).status).toBe(400);
        expect(await silentCode(person)).toBeNull();
        const again = tokensOf(await redeem(http, await codeFor(person, 'acme-web', {}, people.bob)));
        tokensOf(await refresh(http, again.refreshToken));
        const headers = { authorization: `Bearer ${again.accessToken}` };
        expect((await http.ask('GET', '/userinfo', { headers })).status).toBe(200);
      },
    );

    it('refuses client credentials of a disabled application and of a suspended tenant', async () => {
      const { http } = system();
      await system().apply({ serviceStatus: 'disabled', globexStatus: 'disabled' });
      try {
        expect((await clientCredentials(http)).status).toBe(401);
        const query = authorizeQuery({ client_id: 'globex-web', scope: 'openid' });
        expect((await http.ask('GET', `/authorize?${query}`)).status).toBe(400);
      } finally {
        await system().apply({});
      }
      tokensOf(await clientCredentials(http));
    });

    it('puts a changed role into the next access token (security case REF-8)', async () => {
      const { http } = system();
      const first = tokensOf(await redeem(http, await codeFor(system().person())));
      expect(claimsOf(first.accessToken)['role']).toEqual(['clerk']);
      await system().apply({ adaRoles: ['clerk', 'manager'] });
      try {
        const second = tokensOf(await refresh(http, first.refreshToken));
        expect((claimsOf(second.accessToken)['role'] as string[]).toSorted()).toEqual(['clerk', 'manager']);
      } finally {
        await system().apply({});
      }
    });

    it('keeps tenants apart: same request, other tenant, nothing found', async () => {
      const { http } = system();
      const person = system().person();
      const query = authorizeQuery({ client_id: 'globex-web', scope: 'openid' });
      const started = await person.get(`/authorize?${query}`);
      const answer = await person.submit(started.header('location') ?? '', {
        identifier: people.ada.username,
        password: people.ada.password,
      });
      expect(answer.status).toBe(401);
      const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
      expect((await refresh(http, tokens.refreshToken, 'globex-web')).status).toBe(400);
      expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
    });
  });
}
