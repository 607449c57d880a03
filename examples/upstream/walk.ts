/** Has a provider of another make sign people in to Tessera, in a real browser. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { authorizationQuery, newPkce } from '../../libs/test-client/src/index.ts';
import { expect } from '../harness/expect.ts';
import { group, type Registration, type Upstream } from './upstream.ts';

const root = join(import.meta.dirname, '../..');
const callback = 'http://127.0.0.1:19499/callback';
const here = { username: 'eve', password: 'a passphrase that Tessera knows' };

type Claims = Readonly<Record<string, unknown>>;

export interface Walk {
  /** Of the tenant that the provider is declared for. */
  readonly tenantId: string;
  readonly browser: Browser;
  readonly issuer: string;
  readonly dataDirectory: string;
  readonly start: (registration: Registration) => Promise<Upstream>;
}

/**
 * Declares the provider, and walks: a first sign-in, which makes the account; a second one; with `prompt=login`; after
 * the signing key there has changed; after the person has left the group that has the role; somebody else; and with a
 * password while the provider is unavailable. Throws unless each does what it must. Resolves with what was done.
 */
export async function walkUpstream({
  tenantId,
  browser,
  issuer,
  dataDirectory,
  start,
}: Walk): Promise<string> {
  const registration = {
    clientId: 'tessera',
    clientSecret: 'secret-of-the-examples-not-for-production',
    redirectUri: `${issuer}/login/provider/${tenantId}/corp`,
  };
  const clientId = `${tenantId}-web`;
  const upstream = await start(registration);
  const application = createServer((_request, response) => response.end('back'));
  application.listen(Number(new URL(callback).port), '127.0.0.1');
  await once(application, 'listening');
  let isRunning = true;
  const stop = async () => {
    if (isRunning) await upstream.stop();
    isRunning = false;
  };
  const at = { issuer, clientId, upstream };
  try {
    declare(stateWith(tenantId, clientId, registration, upstream), dataDirectory);
    await withBrowser(browser, async (page) => {
      const first = await signIn(page, at, 'ada');
      expect(first.wasAsked, 'the provider asks who it is');
      expect(first.idToken['amr']?.toString() === 'fed', 'the ID token says that a provider signed in');
      expect(first.userInfo['email'] === 'ada@staff.example', 'the address comes from the provider');
      expect(first.userInfo['email_verified'] === true, 'and is verified');
      expect(first.userInfo['name'] === 'Ada Lovelace', 'so does the name');
      expect(rolesOf(first).includes('clerk'), `the group ${group} gives the role`);

      const again = await signIn(page, at, 'ada');
      expect(!again.wasAsked && again.idToken['sub'] === first.idToken['sub'], 'a session goes on');
      const forced = await signIn(page, at, 'ada', { prompt: 'login', max_age: '60' });
      expect(forced.wasAsked && forced.idToken['sub'] === first.idToken['sub'], 'prompt=login goes on to it');

      await upstream.rotateKeys();
      await upstream.leaveGroup();
      await page.context().clearCookies();
      const later = await signIn(page, at, 'ada');
      expect(later.idToken['sub'] === first.idToken['sub'], 'a new key there is fetched');
      expect(!rolesOf(later).includes('clerk'), 'who has left the group has lost the role');

      await page.context().clearCookies();
      const other = await signIn(page, at, 'bob');
      expect(other.idToken['sub'] !== first.idToken['sub'], 'somebody else is somebody else');
      expect(rolesOf(other).length === 0, 'and has no role');
    });
    await stop();
    await withBrowser(browser, async (page) => {
      const { query } = newRequest(clientId);
      await page.goto(`${issuer}/authorize?${query}`);
      await page.fill('input[name=identifier]', here.username);
      await page.fill('input[name=password]', here.password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL(`${callback}*`);
    });
  } finally {
    application.closeAllConnections();
    application.close();
    await stop();
  }
  return 'signed in, again without being asked, again with prompt=login, after a new signing key; the role came and went with the group; somebody else; a password while it was down';
}

interface Place {
  readonly issuer: string;
  readonly clientId: string;
  readonly upstream: Upstream;
}

interface SignedIn {
  readonly idToken: Claims;
  readonly accessToken: Claims;
  readonly userInfo: Claims;
  /** Whether the provider asked for the password. */
  readonly wasAsked: boolean;
}

const rolesOf = ({ accessToken }: SignedIn): readonly string[] => accessToken['role'] as string[];

/** From the application to its tokens, by the button of the provider if Tessera asks. */
async function signIn(
  page: Page,
  { issuer, clientId, upstream }: Place,
  username: string,
  parameters: Record<string, string> = {},
): Promise<SignedIn> {
  const { query, verifier } = newRequest(clientId, parameters);
  await page.goto(`${issuer}/authorize?${query}`);
  const button = page.getByRole('button', { name: /^Continue with/ });
  let wasAsked = false;
  if ((await button.count()) > 0) {
    await button.click();
    wasAsked = page.url().startsWith(new URL(upstream.issuer).origin);
    if (wasAsked) await upstream.signIn(page, username);
  }
  await page.waitForURL(`${callback}*`);
  const code = new URL(page.url()).searchParams.get('code') ?? '';
  const body = { grant_type: 'authorization_code', client_id: clientId, redirect_uri: callback };
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...body, code, code_verifier: verifier }),
  });
  const tokens = (await answer.json()) as { id_token: string; access_token: string };
  expect(answer.ok, `the code is exchanged: ${JSON.stringify(tokens)}`);
  const authorization = `Bearer ${tokens.access_token}`;
  const userInfo = await fetch(`${issuer}/userinfo`, { headers: { authorization } });
  return {
    idToken: claimsOf(tokens.id_token),
    accessToken: claimsOf(tokens.access_token),
    userInfo: (await userInfo.json()) as Claims,
    wasAsked,
  };
}

function newRequest(clientId: string, parameters: Record<string, string> = {}) {
  const { verifier, challenge } = newPkce();
  const query = authorizationQuery({
    client_id: clientId,
    redirect_uri: callback,
    scope: 'openid profile email',
    code_challenge: challenge,
    ...parameters,
  });
  return { query, verifier };
}

function claimsOf(token: string): Claims {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
}

/** A browser of its own. */
async function withBrowser(browser: Browser, work: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ locale: 'en' });
  const page = await context.newPage();
  try {
    await work(page);
  } catch (error) {
    const shown = await page.innerText('body').catch(() => '');
    throw new Error(`${String(error)}\n${page.url()}\n${shown.slice(0, 1000)}`, { cause: error });
  } finally {
    await context.close();
  }
}

/** Applies a state beside that of the other examples. */
function declare(state: object, dataDirectory: string): void {
  const folder = join(root, 'test-output/examples');
  const file = join(folder, 'upstream.yaml');
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, JSON.stringify(state));
  execFileSync(
    process.execPath,
    ['apps/cli/src/main.ts', 'apply', '--file', file, '--take-over', '--allow-delete'],
    {
      cwd: root,
      env: { PATH: process.env['PATH'], TESSERA_DATA_DIR: dataDirectory },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

const stateWith = (
  tenantId: string,
  clientId: string,
  { clientId: registered, clientSecret }: Registration,
  { issuer, preset }: Upstream,
): object => ({
  owner: tenantId,
  tenants: [
    {
      id: tenantId,
      name: 'Staff',
      roles: ['clerk'],
      users: [here],
      providers: [
        {
          name: 'corp',
          displayName: 'Corp',
          preset,
          issuer,
          clientId: registered,
          clientSecret,
          createsAccounts: true,
          roleMappings: [{ claim: 'groups', value: group, role: 'clerk' }],
        },
      ],
      applications: [
        {
          clientId,
          name: 'Staff Web',
          type: 'public',
          grantTypes: ['authorization_code'],
          redirectUris: [callback],
          scopes: ['openid', 'profile', 'email'],
        },
      ],
    },
  ],
});
