/** What people and programs do with the four applications, at Keycloak and at Tessera alike. */
import { createHmac } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { expect } from '../harness/expect.ts';
import { addresses } from './applications.ts';
import { ada, bob, type Person } from './realm.ts';

/** The part of `keycloak-js` that the page has as a global. */
interface KeycloakJs {
  readonly token: string;
  readonly subject: string;
  readonly tokenParsed: Readonly<Record<string, unknown>>;
  updateToken(minValidity: number): Promise<boolean>;
  loadUserProfile(): Promise<{ readonly username?: string; readonly email?: string }>;
  loadUserInfo(): Promise<{ readonly sub?: string }>;
  logout(): Promise<void>;
}

interface WithKeycloak {
  readonly keycloak: KeycloakJs;
}

/**
 * Uses all four with new sign-ins. Throws unless each works. Resolves with the `sub` of each person, whom all
 * applications know by the same.
 */
export async function walkApplications(browser: Browser): Promise<string> {
  const bySpring = await inBrowser(browser, async (page) => walkSpring(page, ada));
  const ofBob = await inBrowser(browser, async (page) => walkSpring(page, bob));
  const { subject, token } = await inBrowser(browser, walkPage);
  const byProxy = await inBrowser(browser, walkProxy);
  const ofApi = await callApi(`${addresses.api}/orders`, token);
  const ofSpring = await callApi(`${addresses.spring}/api/me`, token);
  expect(ofSpring === subject, `the resource server of Spring reads the sub: ${ofSpring}`);
  const { sub, name, roles } = JSON.parse(ofApi) as { sub: string; name: string; roles: string[] };
  expect(name === ada.username && roles.includes('clerk'), `the API reads name and roles: ${ofApi}`);
  const all = [...new Set([bySpring, subject, byProxy, sub])];
  expect(all.length === 1, `all applications know one sub: ${all.join(', ')}`);
  return `${subject} ${ofBob}`;
}

async function inBrowser<T>(browser: Browser, walk: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  try {
    return await walk(page);
  } catch (error) {
    const text = await page.innerText('body').catch(() => '');
    throw new Error(`${String(error)}\n${page.url()}\n${text.slice(0, 1000)}`, { cause: error });
  } finally {
    await context.close();
  }
}

const codeField = 'input[name=otp], input[name=code]';
const approval = '[name=accept], button[value=approve]';
const submit = '#kc-login, button[type=submit]';

/** Signs a person in where the browser was sent to: the password, a code, consent. Waits for the application. */
async function signIn(page: Page, { application, who = ada }: { application: string; who?: Person }) {
  await page.locator('input[name=password]').waitFor();
  await page.fill('input[name=username], input[name=identifier]', who.username);
  await page.fill('input[name=password]', who.password);
  await page.locator(submit).first().click();
  if (who.totp !== undefined) {
    await page.locator(codeField).waitFor();
    await page.fill(codeField, codeOf(who.totp));
    await page.locator(submit).first().click();
  }
  const arrives = page.waitForURL((url) => url.href.startsWith(application));
  // Consent that was given before is not asked for again.
  const asks = page.locator(approval).first().waitFor();
  asks.then(
    async () => page.locator(approval).first().click(),
    () => undefined,
  );
  await arrives;
}

/** The code of an authenticator app (RFC 6238 §4), of six digits. */
function codeOf(key: string): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

async function walkSpring(page: Page, who: Person): Promise<string> {
  await page.goto(addresses.spring);
  await signIn(page, { application: addresses.spring, who });
  const claims = JSON.parse(await page.innerText('body')) as Readonly<Record<string, string>>;
  expect(claims['preferred_username'] === who.username, `Spring knows who it is: ${JSON.stringify(claims)}`);
  expect(claims['email'] === who.email, `Spring knows the address: ${JSON.stringify(claims)}`);
  await page.goto(`${addresses.spring}/logout`);
  await page.locator('button[type=submit]').click();
  await page.waitForURL((url) => url.href.startsWith(`${addresses.spring}/bye`));
  await page.goto(addresses.spring);
  await page.locator('input[name=password]').waitFor();
  return claims['sub'] ?? '';
}

async function walkPage(page: Page): Promise<{ subject: string; token: string }> {
  await page.goto(`${addresses.spa}/orders?page=2`);
  await signIn(page, { application: addresses.spa });
  await page.waitForFunction('document.querySelector("#claims").textContent !== ""');
  const asked = await page.evaluate(async () => {
    const { keycloak } = globalThis as unknown as WithKeycloak;
    const { token: before } = keycloak;
    const isRefreshed = await keycloak.updateToken(-1);
    return {
      isRefreshed: isRefreshed && keycloak.token !== before,
      profile: await keycloak.loadUserProfile(),
      userInfo: await keycloak.loadUserInfo(),
      claims: keycloak.tokenParsed,
      subject: keycloak.subject,
      token: keycloak.token,
    };
  });
  const { isRefreshed, profile, userInfo, claims, subject, token } = asked;
  expect(
    page.url() === `${addresses.spa}/orders?page=2`,
    `the page is the one that was asked for: ${page.url()}`,
  );
  expect(isRefreshed, 'keycloak-js gets another access token');
  expect(
    profile.username === ada.username && profile.email === ada.email,
    `the profile: ${JSON.stringify(profile)}`,
  );
  expect(userInfo.sub === subject, `userinfo: ${JSON.stringify(userInfo)}`);
  const { roles = [] } = (claims['realm_access'] ?? {}) as { roles?: string[] };
  const { 'orders-api': ofApi } = (claims['resource_access'] ?? {}) as Record<string, { roles: string[] }>;
  expect(roles.includes('clerk'), `keycloak-js reads realm_access: ${JSON.stringify(claims)}`);
  const { groups = [] } = claims as { groups?: string[] };
  expect(groups.join() === '/Staff/Accounts', `keycloak-js reads groups: ${JSON.stringify(claims)}`);
  expect(ofApi?.roles.includes('approve') === true, `and resource_access: ${JSON.stringify(claims)}`);
  await page.evaluate(() => void (globalThis as unknown as WithKeycloak).keycloak.logout());
  // The page is opened again, and asks for a sign-in.
  await page.locator('input[name=password]').waitFor();
  return { subject, token };
}

async function walkProxy(page: Page): Promise<string> {
  await page.goto(`${addresses.proxy}/oauth2/start?rd=/oauth2/userinfo`);
  await signIn(page, { application: addresses.proxy });
  const shown = JSON.parse(await page.innerText('body')) as { user: string; email: string; groups: string[] };
  expect(shown.email === ada.email, `oauth2-proxy knows the address: ${JSON.stringify(shown)}`);
  expect(shown.groups.includes('role:clerk'), `and the roles: ${JSON.stringify(shown)}`);
  return shown.user;
}

async function callApi(url: string, token: string): Promise<string> {
  const ask = async (authorization?: string) =>
    fetch(url, authorization === undefined ? {} : { headers: { authorization } });
  expect((await ask()).status === 401, `${url} answers 401 without a token`);
  const wrong = await ask(`Bearer ${token.slice(0, -8)}AAAAAAAA`);
  expect(wrong.status === 401, `${url} answers 401 to a wrong token`);
  const answer = await ask(`Bearer ${token}`);
  const text = await answer.text();
  const reason = answer.headers.get('www-authenticate') ?? '';
  expect(answer.status === 200, `${url} answers 200: ${answer.status} ${text} ${reason}`);
  return text;
}
