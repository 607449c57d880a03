import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { launchChromium } from '@tessera/test-kit';
import * as openid from 'openid-client';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { withDevice } from '../../harness/browser/person-with-device.ts';

const root = new URL('../../../../../', import.meta.url);
const example = (name: string): string => new URL(`examples/node/${name}`, root).href;
const password = 'a passphrase that eve chose';

type StepUp = Record<string, string>;

interface Verify {
  accessTokenCheck(
    service: object,
  ): (
    authorization: string | undefined,
    scope: string,
    demand: object,
  ) => Promise<{ readonly status?: number; readonly challenge?: string }>;
}

interface Client {
  beginSignIn(
    config: openid.Configuration,
    redirectUri: string,
    stepUp?: StepUp,
  ): Promise<{ readonly url: URL; readonly kept: object }>;
  finishSignIn(
    config: openid.Configuration,
    callback: URL,
    kept: object,
  ): Promise<openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers>;
  callApi(
    config: openid.Configuration,
    accessToken: string,
    url: URL,
  ): Promise<{ readonly response?: Response; readonly stepUp?: StepUp }>;
}

/** What the routes of the API demand of the sign-in. */
const demands: Readonly<Record<string, object>> = {
  '/orders': {},
  '/payments': { acrValues: ['3'] },
  '/close': { maxAge: 4 },
};

/** The examples for Node as an API and its client, with a real browser between them. */
describe('an API that demands more of a sign-in (RFC 9470)', () => {
  let server: DemoServer;
  let api: Server;
  let browser: Browser;
  let client: Client;
  let config: openid.Configuration;
  let redirectUri: string;

  beforeAll(async () => {
    server = await startDemoServer();
    redirectUri = `${server.baseUrl}/demo/callback`;
    const { accessTokenCheck }: Verify = await import(example('verify.ts'));
    client = await import(example('sign-in.ts'));
    const audience = 'https://api.demo.example';
    const check = accessTokenCheck({ issuer: server.baseUrl, audience, tenantId: 'demo' });
    api = createServer((request, response) => {
      const { authorization } = request.headers;
      void check(authorization, 'orders.read', demands[request.url ?? ''] ?? {}).then((verdict) => {
        const { status = 200, challenge } = verdict;
        response.writeHead(status, challenge === undefined ? {} : { 'www-authenticate': challenge });
        response.end();
      });
    }).listen(0, '127.0.0.1');
    await once(api, 'listening');
    config = await openid.discovery(new URL(server.baseUrl), 'demo-web', undefined, openid.None(), {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    api?.close();
    await server?.stop();
  });

  const call = async (accessToken: string, path: string) => {
    const { port } = api.address() as AddressInfo;
    return client.callApi(config, accessToken, new URL(path, `http://127.0.0.1:${port}`));
  };

  /** Goes to `/authorize` and back; `work` is what the person does there. */
  async function signIn(page: Page, work: () => Promise<void>, stepUp?: StepUp) {
    const { url, kept } = await client.beginSignIn(config, redirectUri, stepUp);
    await page.goto(url.href);
    await work();
    await page.waitForURL(`${redirectUri}*`);
    const tokens = await client.finishSignIn(config, new URL(page.url()), kept);
    return { accessToken: tokens.access_token, claims: tokens.claims() };
  }

  it('has its client sign the person in again, who is asked for what is missing and gets in', async () => {
    await server.call('Create', { user: { username: 'pia', password } });
    await withDevice(browser, async ({ page, noAutofill }) => {
      await noAutofill();
      await page.route(`${redirectUri}*`, async (route) => route.fulfill({ body: 'back' }));
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      const byPassword = async () => {
        await page.getByLabel(/user name/i).fill('pia');
        await page.getByLabel('Password').fill(password);
        await button('Sign in').click();
      };
      await signIn(page, async () => {
        await byPassword();
        await button('Create a passkey').click();
      });
      await page.context().clearCookies();

      const weak = await signIn(page, byPassword);
      expect(weak.claims).toMatchObject({ acr: '1', amr: ['pwd'] });
      expect((await call(weak.accessToken, '/orders')).response?.status).toBe(200);
      const { stepUp } = await call(weak.accessToken, '/payments');
      expect(stepUp).toEqual({ acr_values: '3' });
      const strong = await signIn(page, async () => button('Use your passkey').click(), stepUp);
      expect(strong.claims).toMatchObject({ acr: '3', sub: weak.claims?.sub });
      expect((await call(strong.accessToken, '/payments')).response?.status).toBe(200);

      await sleep(5000);
      const { stepUp: anew } = await call(strong.accessToken, '/close');
      expect(anew).toEqual({ max_age: '4' });
      const fresh = await signIn(page, async () => button('Use a passkey').click(), anew);
      expect((await call(fresh.accessToken, '/close')).response?.status).toBe(200);
    });
  });
});
