import * as openid from 'openid-client';
import { describe, expect, it } from 'vitest';
import { ordersAudience, people, redirectUri, secrets } from '../../harness/declared-state.ts';
import { freePort } from '@tessera/test-kit/provision';
import { tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, redeem } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

const root = new URL('../../../../../', import.meta.url);
/** Where an example is imported from: it belongs to no package, as its copies do not. */
const example = (name: string): string => new URL(`examples/node/${name}`, root).href;

interface Verify {
  accessTokenCheck(service: {
    readonly issuer: string;
    readonly audience: string;
    readonly tenantId: string;
  }): (authorization: string | undefined, scope: string) => Promise<object>;
}

interface SignIn {
  connect(issuer: string, clientId: string, clientSecret: string): Promise<openid.Configuration>;
  beginSignIn(
    config: openid.Configuration,
    redirectUri: string,
  ): Promise<{ readonly url: URL; readonly kept: object }>;
  finishSignIn(config: openid.Configuration, callback: URL, kept: object): Answered;
  refresh(config: openid.Configuration, refreshToken: string): Answered;
  signOutUrl(config: openid.Configuration, idToken: string, returnTo: string): URL;
}

type Answered = Promise<openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers>;

/** What the documents for developers name. */
export function examplesSuite(system: () => System): void {
  describe('the examples for Node', () => {
    it('tell good access tokens from all others, and trouble from both', async () => {
      const { accessTokenCheck }: Verify = await import(example('verify.ts'));
      const { baseUrl: issuer, http } = system();
      const here = { issuer, audience: ordersAudience, tenantId: 'acme' };
      const check = accessTokenCheck(here);
      const person = tokensOf(await redeem(http, await codeFor(system().person())));
      const service = tokensOf(await clientCredentials(http));
      const billing = tokensOf(
        await clientCredentials(http, undefined, undefined, { scope: 'billing.read' }),
      );
      const good = `Bearer ${person.accessToken}`;
      expect(await check(good, 'orders.read')).toMatchObject({ claims: { client_id: 'acme-web' } });
      expect(await check(`bearer ${service.accessToken}`, 'orders.read')).toMatchObject({
        claims: { sub: 'acme-service' },
      });
      expect(await check(undefined, 'orders.read')).toEqual({ status: 401, challenge: 'Bearer' });
      const others = [
        person.idToken,
        person.refreshToken,
        billing.accessToken,
        `${person.accessToken}x`,
        'x',
      ];
      for (const token of others) {
        expect(await check(`Bearer ${token}`, 'orders.read')).toMatchObject({ status: 401 });
      }
      const elsewhere = accessTokenCheck({ ...here, tenantId: 'globex' });
      expect(await elsewhere(good, 'orders.read')).toMatchObject({ status: 401 });
      for (const scope of ['orders.write', 'orders']) {
        expect(await check(good, scope)).toMatchObject({ status: 403 });
      }
      for (const unreachable of [`http://127.0.0.1:${await freePort()}`, `${issuer}/nothing`]) {
        const cutOff = accessTokenCheck({ ...here, issuer: unreachable });
        expect(await cutOff(good, 'orders.read')).toEqual({ status: 503 });
      }
    });

    it('sign people in, refresh where answers are lost, and sign them out', async () => {
      const { connect, beginSignIn, finishSignIn, refresh, signOutUrl }: SignIn = await import(
        example('sign-in.ts')
      );
      const issuer = system().baseUrl;
      const config = await connect(issuer, 'acme-web', secrets.web);
      const person = system().person();
      const { url, kept } = await beginSignIn(config, redirectUri);
      const back = await person.authorize(url.search.slice(1), people.ada);
      const tokens = await finishSignIn(config, new URL(back.header('location') ?? ''), kept);
      expect(tokens.claims()).toMatchObject({ iss: issuer, aud: 'acme-web' });

      const asked: string[] = [];
      config[openid.customFetch] = async (address, options) => {
        asked.push(options.body instanceof URLSearchParams ? options.body.toString() : '');
        if (asked.length === 1) return Response.json({ error: 'temporarily_unavailable' }, { status: 503 });
        const answer = await fetch(address, {
          ...options,
          body: options.body ?? null,
          signal: options.signal ?? null,
        });
        if (asked.length === 2) throw new TypeError('the answer was lost');
        return answer;
      };
      const refreshed = await refresh(config, tokens.refresh_token ?? '');
      expect(asked).toHaveLength(3);
      expect(asked[0]).toContain('grant_type=refresh_token');
      expect(new Set(asked).size).toBe(1);
      const next = await refresh(config, refreshed.refresh_token ?? '');
      const { refresh_token: last = '', id_token: idToken = '' } = next;
      await openid.tokenRevocation(config, last);
      await expect(refresh(config, last)).rejects.toMatchObject({ error: 'invalid_grant' });

      const returnTo = 'http://127.0.0.1:9000/bye';
      const { pathname, search } = signOutUrl(config, idToken, returnTo);
      const signedOut = await person.get(pathname + search);
      expect(signedOut.header('location')).toBe(`${returnTo}?logged_out=1`);
    });
  });
}
