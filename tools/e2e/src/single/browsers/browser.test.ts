import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium, installedDatabaseUrl, redisUrl, waitFor } from '@tessera/test-kit';
import { people, redirectUri } from '../../harness/declared-state.ts';
import { authorizeQuery } from '../../harness/flows.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { expectAccessible } from './accessible.ts';

/** A person with a real browser. The client's own pages are served by the test. */
describe('the pages in a real Chromium', () => {
  let system: System;
  let browser: Browser;
  let client: Server;
  /** The last form that was posted to the client. */
  let posted = '';

  beforeAll(async () => {
    client = createServer((request, response) => {
      void text(request).then((body) => {
        if (request.method === 'POST') posted = body;
        response
          .setHeader('content-type', 'text/html')
          .end('<title>Client</title><h1>Back at the client</h1>');
      });
    });
    await new Promise<void>((resolve, reject) => {
      client.once('error', reject);
      client.listen(Number(new URL(redirectUri).port), '127.0.0.1', resolve);
    });
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUps.compact, { stores });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await system?.stop();
    client.close();
  });

  async function withPage(
    work: (page: Page, context: BrowserContext) => Promise<void>,
    options: { javaScriptEnabled?: boolean } = {},
  ): Promise<void> {
    const context = await browser.newContext({ viewport: { width: 1000, height: 760 }, ...options });
    try {
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
      });
      await work(page, context);
      expect(problems).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const authorizeUrl = (overrides: Record<string, string> = {}): string =>
    `${system.baseUrl}/authorize?${authorizeQuery(overrides)}`;

  async function signIn(page: Page, person: { username: string; password: string }): Promise<void> {
    await page.getByLabel(/user name|email|phone/i).fill(person.username);
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: /sign in/i }).click();
  }

  async function look(page: Page, name: string): Promise<void> {
    await savePicture(page, name);
    await expectAccessible(page);
  }

  it('signs in after a wrong password, and back to the client with a code', async () => {
    await withPage(async (page) => {
      await page.goto(authorizeUrl());
      await page.getByRole('heading', { level: 1 }).waitFor();
      await look(page, 'sign-in');
      await signIn(page, { username: people.ada.username, password: 'wrong-password' });
      await page.getByRole('alert').waitFor();
      expect(await page.getByLabel('Password').inputValue()).toBe('');
      await look(page, 'wrong-password');
      await signIn(page, people.ada);
      await page.waitForURL(/127\.0\.0\.1:9000\/callback\?/);
      expect(new URL(page.url()).searchParams.get('code')).toBeTruthy();
    });
  });

  it('signs in with script switched off', async () => {
    await withPage(
      async (page) => {
        await page.goto(authorizeUrl());
        await signIn(page, people.ada);
        await page.waitForURL(/127\.0\.0\.1:9000\/callback\?/);
      },
      { javaScriptEnabled: false },
    );
  });

  it('posts the code to the client after a sign-in, with a session, and an error (response_mode=form_post)', async () => {
    await withPage(async (page) => {
      const url = authorizeUrl({ response_mode: 'form_post', state: '"><b>' });
      const atClient = async () => {
        await page.getByText('Back at the client').waitFor();
        expect(page.url()).toBe(redirectUri);
        return Object.fromEntries(new URLSearchParams(posted));
      };
      await page.goto(url);
      await signIn(page, people.ada);
      const first = await atClient();
      expect(first).toMatchObject({ state: '"><b>', iss: system.baseUrl });
      await page.goto(url, { waitUntil: 'commit' });
      const second = await atClient();
      expect(second['code']).toMatch(/^tc_/);
      expect(second['code']).not.toBe(first['code']);
      await page.goto(`${url}&max_age=0&prompt=none`, { waitUntil: 'commit' });
      await waitFor(() => expect(posted).toContain('error=login_required'));
    });
  });

  it('shows a button that posts the code if script is switched off (response_mode=form_post)', async () => {
    await withPage(
      async (page) => {
        await page.goto(authorizeUrl({ response_mode: 'form_post' }));
        await signIn(page, people.ada);
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.waitForURL(redirectUri);
        expect(new URLSearchParams(posted).get('code')).toBeTruthy();
      },
      { javaScriptEnabled: false },
    );
  });

  it('does not ask again for a second application of the tenant', async () => {
    await withPage(async (page) => {
      await page.goto(authorizeUrl());
      await signIn(page, people.ada);
      await page.waitForURL(/callback/);
      await page.goto(authorizeUrl({ client_id: 'acme-spa' }));
      expect(page.url()).toMatch(/^http:\/\/127\.0\.0\.1:9000\/callback\?/);
      expect(new URL(page.url()).searchParams.get('code')).toBeTruthy();
    });
  });

  it('explains a tenant mismatch, offers signing out, and continues as the other person', async () => {
    await withPage(async (page) => {
      await page.goto(authorizeUrl());
      await signIn(page, people.ada);
      await page.waitForURL(/callback/);
      await page.goto(authorizeUrl({ client_id: 'globex-web', scope: 'openid stock.read' }));
      await look(page, 'tenant-mismatch');
      await page.getByRole('button', { name: /sign out/i }).click();
      await signIn(page, people.eve);
      await page.waitForURL(/callback\?/);
      expect(new URL(page.url()).searchParams.get('code')).toBeTruthy();
    });
  });

  it('signs out, to the client and to its own page', async () => {
    await withPage(async (page, context) => {
      await page.goto(authorizeUrl());
      await signIn(page, people.ada);
      await page.waitForURL(/callback/);
      await page.goto(`${system.baseUrl}/logout?client_id=acme-web`);
      expect(page.url()).toBe('http://127.0.0.1:9000/bye?logged_out=1');
      await page.goto(`${system.baseUrl}/logout`);
      expect(page.url()).toBe(`${system.baseUrl}/login`);
      await page
        .getByText(/signed out/i)
        .first()
        .waitFor();
      await look(page, 'signed-out');
      const left = (await context.cookies()).filter((cookie) => cookie.name.includes('session'));
      expect(left).toEqual([]);
    });
  });

  it('shows understandable pages for a bad request, an unknown path and nothing waiting', async () => {
    await withPage(async (page) => {
      await page.goto(`${system.baseUrl}/authorize?client_id=acme-web`);
      await page.getByText('The application sent a sign-in request that cannot be used.').waitFor();
      await page.getByText('For the developer of the application').click();
      await page.getByText('Missing required OAuth parameters.').waitFor();
      await look(page, 'bad-request');
      await page.goto(`${system.baseUrl}/no-such-page`);
      await look(page, 'not-found');
      await page.goto(`${system.baseUrl}/login`);
      await look(page, 'nothing-waiting');
    });
  });

  it('fits a small dark screen', async () => {
    const context = await browser.newContext({ viewport: { width: 360, height: 640 }, colorScheme: 'dark' });
    try {
      const page = await context.newPage();
      await page.goto(authorizeUrl());
      expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
      await look(page, 'sign-in-small-dark');
    } finally {
      await context.close();
    }
  });
});
