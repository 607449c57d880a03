import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerProcess } from '@tessera/test-client';
import { launchChromium } from '@tessera/test-kit';
import { copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedirectTarget } from '../../harness/browser/redirect-target.ts';
import { startOpenIdProvider, type OpenIdProvider } from '../../harness/openid-provider.ts';
import { expectAccessible } from './accessible.ts';
import { PatientProcess } from '../../harness/patient-process.ts';
import { savePicture } from '../../harness/browser/picture.ts';

const secret = 'a secret of at least thirty-two characters';
const password = 'a passphrase that gina chose';
let redirectUri: string;

/** People of a tenant who sign in with their company's provider: one of another make, and another Tessera. */
describe('providers of a tenant in a real Chromium', () => {
  const front = new PatientProcess('front', 'apps/standalone/src/main.ts');
  const upstream = new PatientProcess('upstream', 'apps/standalone/src/main.ts');
  let directory: string;
  let baseUrl: string;
  /** Of tenants whose issuer has a path or a host of its own. */
  let issuers: Record<'path' | 'host', string>;
  let company: OpenIdProvider;
  let browser: Browser;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-providers-'));
    redirectUri = await startRedirectTarget();
    const [frontPort, companyPort, upstreamPort] = [await freePort(), await freePort(), await freePort()];
    // Cookies know no ports: the three have two hosts.
    baseUrl = `http://localhost:${frontPort}`;
    const registered = { clientId: 'front', clientSecret: secret };
    const redirect = (name: string) => `${baseUrl}/login/provider/acme/${name}`;
    issuers = { path: `${baseUrl}/t/path`, host: `http://127.0.0.1:${frontPort}` };
    const redirectUris = [
      redirect('corp'),
      ...Object.entries(issuers).map(([tenant, issuer]) => `${issuer}/login/provider/${tenant}/corp`),
    ];
    company = await startOpenIdProvider(
      companyPort,
      {
        ...registered,
        redirectUris,
        postLogoutRedirectUri: `${baseUrl}/logout/provider`,
        backchannelLogoutUri: `${redirect('corp')}/backchannel-logout`,
      },
      'corp.example',
    );
    const start = async (server: ServerProcess, name: string, url: string, state: string) => {
      const { port } = new URL(url);
      const data = join(directory, name);
      await copyEmbeddedDatabase(join(data, 'database'));
      await writeFile(`${data}.yaml`, state);
      server.start({
        TESSERA_DATA_DIR: data,
        TESSERA_APPLY_FILE: `${data}.yaml`,
        TESSERA_ISSUER: url,
        TESSERA_HTTP_HOST: '127.0.0.1',
        TESSERA_HTTP_PORT: port,
        TESSERA_ALLOW_PRIVATE: 'providers',
      });
      await eventually(`${name} serves`, async () => (await fetch(`${url}/readyz`)).ok);
    };
    const upstreamUrl = `http://127.0.0.1:${upstreamPort}`;
    await Promise.all([
      start(upstream, 'upstream', upstreamUrl, stateOfUpstream(redirect('group'))),
      start(front, 'front', baseUrl, stateOfFront(company.issuer, upstreamUrl, issuers)),
    ]);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([front.stop(), upstream.stop(), company?.stop()]);
    await rm(directory, { recursive: true, force: true });
  });

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  async function withPage(work: (page: Page) => Promise<void>, locale = 'en'): Promise<void> {
    const context = await browser.newContext({ locale });
    try {
      const page = await context.newPage();
      await work(page);
    } finally {
      await context.close();
    }
  }

  /** Starts at the application; `finish` exchanges its code for claims. */
  async function begin(page: Page, parameters: Record<string, string> = {}) {
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      client_id: 'acme-web',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid profile email',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...parameters,
    });
    await page.goto(`${baseUrl}/authorize?${query.toString()}`);
    return async (): Promise<Record<string, unknown>> => {
      await page.waitForURL(`${redirectUri}*`);
      const code = new URL(page.url()).searchParams.get('code') ?? '';
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'acme-web',
        redirect_uri: redirectUri,
        code,
        code_verifier: verifier,
      });
      const answer = await fetch(`${baseUrl}/token`, { method: 'POST', body });
      const tokens = (await answer.json()) as { id_token: string; access_token: string };
      const authorization = `Bearer ${tokens.access_token}`;
      const userInfo = await fetch(`${baseUrl}/userinfo`, { headers: { authorization } });
      const [, claims = ''] = tokens.id_token.split('.');
      return {
        ...((await userInfo.json()) as object),
        ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object),
      };
    };
  }

  /** At the provider of the other make. */
  async function atCompany(page: Page, name: string): Promise<void> {
    await page.locator('input[name=login]').fill(name);
    await page.locator('input[name=password]').fill('anything');
    await page.locator('[type=submit]').click();
    await page.waitForURL(/interaction/);
    await page.locator('[type=submit]').click();
  }

  it('sign somebody in at an application, who gets an account, and at its next sign-in the same', async () => {
    const subjects: unknown[] = [];
    for (let time = 0; time < 2; time += 1)
      await withPage(async (page) => {
        const finish = await begin(page);
        if (time === 0) {
          await expectAccessible(page);
          await savePicture(page, 'providers');
        }
        await button(page, 'Continue with Corp').click();
        await atCompany(page, 'ada');
        const claims = await finish();
        expect(claims).toMatchObject({
          email: 'ada@corp.example',
          name: 'ada of corp.example',
          amr: ['fed'],
        });
        subjects.push(claims['sub']);
      });
    expect(subjects[1]).toBe(subjects[0]);
  });

  it('are found by the domain of an address', async () => {
    await withPage(async (page) => {
      const finish = await begin(page);
      await page.getByLabel(/user name/i).fill('bo@corp.example');
      await button(page, 'Continue').click();
      await page.waitForURL(`${company.issuer}/**`);
      await atCompany(page, 'bo');
      expect(await finish()).toMatchObject({ email: 'bo@corp.example' });
    });
  });

  it('lead back to the device that is to be connected, and to an approval', async () => {
    await withPage(async (page) => {
      const body = new URLSearchParams({ client_id: 'acme-tv', scope: 'openid' });
      const started = await fetch(`${baseUrl}/device_authorization`, { method: 'POST', body });
      const { user_code } = (await started.json()) as { user_code: string };
      await page.goto(`${baseUrl}/device`);
      await page.getByLabel('Code').fill(user_code);
      await button(page, 'Continue').click();
      await button(page, 'Continue with Corp').click();
      await atCompany(page, 'ada');
      await page.getByRole('heading', { name: 'Connect this device?' }).waitFor();
      await button(page, 'Approve').click();
      await page.getByRole('heading', { name: 'Device connected' }).waitFor();
    });
    await withPage(async (page) => {
      await page.goto(`${baseUrl}/approvals?tenant=acme`);
      await button(page, 'Continue with Corp').click();
      await atCompany(page, 'ada');
      await page.getByRole('heading', { name: 'Approvals' }).waitFor();
    });
  });

  it('can be another Tessera', async () => {
    await withPage(async (page) => {
      const finish = await begin(page, { prompt: 'login', max_age: '60' });
      await button(page, 'Continue with Group').click();
      await page.getByLabel(/user name/i).fill('gina');
      await page.getByLabel(/password/i).fill(password);
      await button(page, 'Sign in').click();
      expect(await finish()).toMatchObject({ email: 'gina@group.example', name: 'Gina', amr: ['fed'] });
    });
  });

  it.each(['path', 'host'] as const)(
    'lead back to a tenant whose issuer has its own %s, and its session stays there',
    async (tenant) => {
      await withPage(async (page) => {
        const issuer = issuers[tenant];
        await page.goto(`${issuer}/account`);
        await button(page, 'Continue with Corp').click();
        await atCompany(page, 'ada');
        await page.getByRole('heading', { name: 'Your account' }).waitFor();
        expect(page.url()).toBe(`${issuer}/account`);
        await page.goto(`${baseUrl}/account?tenant=acme`);
        await page.getByLabel(/user name/i).waitFor();
        await page.goto(`${issuer}/account`);
        await page.getByRole('heading', { name: 'Your account' }).waitFor();
      });
    },
  );

  it('are linked by a person at their account page, who signs in with them then, and unlinked', async () => {
    await withPage(async (page) => {
      await page.goto(`${baseUrl}/account?tenant=acme`);
      await page.getByLabel(/user name/i).fill('ed');
      await button(page, 'Continue').click();
      await page.getByLabel('Password', { exact: true }).fill(password);
      await button(page, 'Sign in').click();
      await page.getByRole('navigation').getByRole('link', { name: 'Sign-in methods' }).click();
      await button(page, 'Link Corp').click();
      await atCompany(page, 'edward');
      await page.getByText('You can sign in with it now.').waitFor();
      await expectAccessible(page);
      await savePicture(page, 'providers-linked');

      const elsewhere = await browser.newContext({ locale: 'en' });
      const other = await elsewhere.newPage();
      const finish = await begin(other);
      await button(other, 'Continue with Corp').click();
      await atCompany(other, 'edward');
      expect(await finish()).toMatchObject({ name: 'Ed', amr: ['fed'] });

      await button(page, 'Remove Corp').click();
      await button(page, 'Remove this way to sign in').click();
      await page.getByText('You can no longer sign in with it.').first().waitFor();
      await other.goto(`${baseUrl}/account?tenant=acme`);
      await button(other, 'Continue with Corp').waitFor();
      await elsewhere.close();
    });
  });

  it('sign a person out, too, on the way back to the application, and then ask them again', async () => {
    await withPage(async (page) => {
      const finish = await begin(page);
      await button(page, 'Continue with Corp').click();
      await atCompany(page, 'ada');
      await finish();
      const signOut = new URLSearchParams({
        client_id: 'acme-web',
        post_logout_redirect_uri: redirectUri,
        state: 'mine',
      });
      await page.goto(`${baseUrl}/logout?${signOut.toString()}`);
      expect(page.url()).toContain(`${company.issuer}/session/end`);
      await button(page, 'Yes, sign me out').click();
      await page.waitForURL(`${redirectUri}*`);
      const { searchParams } = new URL(page.url());
      expect([searchParams.get('state'), searchParams.get('logged_out')]).toEqual(['mine', '1']);
      await begin(page);
      await button(page, 'Continue with Corp').click();
      await page.locator('input[name=login]').waitFor();
    });
  });

  it('end what they made when a person signs out there, in this browser alone', async () => {
    const elsewhere = await browser.newContext({ locale: 'en' });
    const other = await elsewhere.newPage();
    const signIn = async (page: Page) => {
      await page.goto(`${baseUrl}/account?tenant=acme`);
      await button(page, 'Continue with Corp').click();
      await atCompany(page, 'cy');
      await page.getByRole('heading', { name: 'Your account' }).waitFor();
    };
    await signIn(other);
    await withPage(async (page) => {
      await signIn(page);
      await page.goto(`${company.issuer}/session/end?client_id=front`);
      await button(page, 'Yes, sign me out').click();
      await page.waitForURL(/session\/end\/success/);
      await page.goto(`${baseUrl}/account?tenant=acme`);
      await button(page, 'Continue with Corp').waitFor();
      await other.reload();
      await other.getByRole('heading', { name: 'Your account' }).waitFor();
    });
    await elsewhere.close();
  });

  it('say in the language of the person what they refused, and the password goes on', async () => {
    await withPage(async (page) => {
      const finish = await begin(page);
      await button(page, 'Weiter mit Corp').click();
      await page.getByRole('link', { name: /cancel/i }).click();
      await page.getByText('Sie wurden dort nicht angemeldet.').waitFor();
      await expectAccessible(page);
      await savePicture(page, 'providers-denied');
      await page.getByLabel(/benutzername/i).fill('ed');
      await button(page, 'Weiter').click();
      await page.getByLabel('Passwort', { exact: true }).fill(password);
      await button(page, 'Anmelden').click();
      expect(await finish()).toMatchObject({ amr: ['pwd'] });
    }, 'de');
  });
});

function stateOfFront(
  companyIssuer: string,
  upstreamIssuer: string,
  issuers: Readonly<Record<string, string>>,
): string {
  const corp = {
    name: 'corp',
    displayName: 'Corp',
    issuer: companyIssuer,
    clientId: 'front',
    clientSecret: secret,
    createsAccounts: true,
    signsOut: true,
  };
  return JSON.stringify({
    tenants: [
      ...Object.entries(issuers).map(([id, issuer]) => ({ id, name: id, issuer, providers: [corp] })),
      {
        id: 'acme',
        name: 'Acme',
        users: [{ username: 'ed', email: 'ed@acme.example', name: 'Ed', password }],
        providers: [
          { ...corp, domains: ['corp.example'] },
          {
            name: 'group',
            displayName: 'Group',
            preset: 'tessera',
            issuer: upstreamIssuer,
            clientId: 'front',
            clientSecret: secret,
            createsAccounts: true,
          },
        ],
        applications: [
          {
            clientId: 'acme-web',
            name: 'Acme Web',
            type: 'public',
            grantTypes: ['authorization_code'],
            redirectUris: [redirectUri],
            logoutRedirectUris: [redirectUri],
            scopes: ['openid', 'profile', 'email'],
          },
          {
            clientId: 'acme-tv',
            name: 'Acme TV',
            type: 'public',
            grantTypes: ['device_code'],
            scopes: ['openid'],
          },
        ],
      },
    ],
  });
}

function stateOfUpstream(redirect: string): string {
  return JSON.stringify({
    tenants: [
      {
        id: 'group',
        name: 'Group',
        users: [
          { username: 'gina', email: 'gina@group.example', emailVerified: true, name: 'Gina', password },
        ],
        applications: [
          {
            clientId: 'front',
            name: 'Front',
            type: 'confidential',
            secrets: [{ value: secret }],
            grantTypes: ['authorization_code'],
            redirectUris: [redirect],
            scopes: ['openid', 'profile', 'email'],
          },
        ],
      },
    ],
  });
}
