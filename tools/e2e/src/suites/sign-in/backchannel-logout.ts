import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { startReceiver, type Receiver } from '@tessera/test-kit';
import { people } from '../../harness/declared-state.ts';
import { eventually } from '@tessera/test-kit/provision';
import { claimsOf, tokensOf } from '@tessera/test-client';
import { codeFor, redeem } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

const patienceMs = 60_000;

/** Applications learn of the end of a session (OIDC Back-Channel Logout). */
export function backchannelLogoutSuite(system: () => System): void {
  async function withReceiver(work: (receiver: Receiver) => Promise<void>): Promise<void> {
    const receiver = await startReceiver('/backchannel-logout');
    await system().apply({ backchannelLogoutUri: receiver.url });
    try {
      await work(receiver);
    } finally {
      await system().apply({});
      await receiver.close();
    }
  }

  /** The claims of the logout tokens that have come, verified with the published keys, by audience. */
  async function logoutTokens({ received }: Receiver) {
    const { http, baseUrl } = system();
    const keys = createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`));
    const tokens = received.map(({ body }) => new URLSearchParams(body).get('logout_token') ?? '');
    const verified = await Promise.all(
      tokens.map(async (token) => {
        http.seen.add(token);
        return (await jwtVerify(token, keys, { issuer: baseUrl, typ: 'logout+jwt' })).payload;
      }),
    );
    return verified.toSorted((left, right) => (String(left.aud) < String(right.aud) ? -1 : 1));
  }

  const came = (receiver: Receiver, count: number) =>
    eventually(`${count} logout tokens have come`, async () => receiver.received.length >= count, patienceMs);

  /** A person who is signed in to both applications, and the claims of an ID token. */
  async function signedIn(credentials = people.ada as { username: string; password: string }) {
    const person = system().person();
    const code = await codeFor(person, 'acme-web', {}, credentials);
    await codeFor(person, 'acme-spa', {}, credentials);
    const claims = claimsOf(tokensOf(await redeem(system().http, code)).idToken ?? '');
    return { person, claims };
  }

  describe('back-channel logout', () => {
    it('sends one token to each application of the session, however often the person signs out', async () => {
      await withReceiver(async (receiver) => {
        const { person, claims } = await signedIn();
        await Promise.all([1, 2, 3].map(() => person.get('/logout')));
        await came(receiver, 2);
        const common = {
          iss: system().baseUrl,
          sub: claims['sub'],
          sid: claims['sid'],
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        };
        const tokens = await logoutTokens(receiver);
        expect(tokens).toMatchObject([
          { ...common, aud: 'acme-spa' },
          { ...common, aud: 'acme-web' },
        ]);
        expect(tokens.some((token) => 'nonce' in token)).toBe(false);
        expect(new Set(tokens.map(({ jti }) => jti)).size).toBe(2);
      });
    });

    it('tries again until the application answers, also after a restart', async () => {
      await withReceiver(async (receiver) => {
        const { person } = await signedIn();
        receiver.answer(...Array.from({ length: 4 }, () => 503));
        await person.get('/logout');
        await came(receiver, 2);
        await system().restart();
        await came(receiver, 6);
        expect(new Set((await logoutTokens(receiver)).map(({ jti }) => jti)).size).toBe(2);
      });
    });

    it('follows when a person is disabled', async () => {
      await withReceiver(async (receiver) => {
        const { claims } = await signedIn(people.bob);
        await system().apply({ backchannelLogoutUri: receiver.url, bobStatus: 'disabled' });
        await came(receiver, 2);
        for (const token of await logoutTokens(receiver)) {
          expect(token).toMatchObject({ sub: claims['sub'], sid: claims['sid'] });
        }
      });
    });
  });
}
