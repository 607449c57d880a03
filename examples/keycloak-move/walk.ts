/** What people and programs do with the four applications, at Keycloak and at Tessera alike. */
import type { Browser, Page } from 'playwright-core';
import { expect } from '../harness/expect.ts';
import { addresses } from './applications.ts';
import { ada, bob, carol, dora, type Person } from './realm.ts';
import { inBrowser, signIn, type Step } from './sign-in.ts';

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

/** What an application knows of a person. */
export interface Seen {
  readonly application: string;
  readonly person: string;
  /** How they signed in. */
  readonly steps: string;
  readonly sub: string;
  readonly roles: string;
  readonly audience: string;
}

/** What an access token says that `keycloak-js` has. */
interface Claims {
  readonly aud?: string | readonly string[];
  readonly groups?: readonly string[];
  readonly realm_access?: { readonly roles: readonly string[] };
  readonly resource_access?: Readonly<Record<string, { readonly roles: readonly string[] }>>;
}

const list = (values: string | readonly string[] | undefined): string =>
  [values ?? []].flat().toSorted().join(' ');

/** Uses all four with new sign-ins, and signs out. Throws unless each works. Resolves with what each knows. */
export async function walkApplications(browser: Browser): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  const see = (application: string, who: Person, steps: readonly Step[], known: Partial<Seen>) =>
    seen.push({
      application,
      person: who.username,
      steps: steps.join(', '),
      sub: '',
      roles: '',
      audience: '',
      ...known,
    });
  for (const who of [ada, bob, carol, dora]) {
    const { steps, claims } = await inBrowser(browser, who, async (page) => walkSpring(page, who));
    see('Spring client', who, steps, { sub: String(claims['sub']), audience: list(claims['aud']) });
  }
  for (const who of [ada, dora]) {
    const {
      steps,
      subject: sub,
      token,
      claims,
    } = await inBrowser(browser, who, (page) => walkPage(page, who));
    const { realm_access: ofRealm, resource_access: ofClients = {}, aud } = claims;
    const ofClient = Object.entries(ofClients).map(([client, { roles }]) => `${client}: ${list(roles)}`);
    const roles = [list(ofRealm?.roles), ...ofClient.toSorted()].join('; ');
    see('keycloak-js', who, steps, { sub, roles, audience: list(aud) });
    if (who === ada) {
      expect(ofRealm?.roles.includes('clerk') === true, `keycloak-js reads realm_access: ${roles}`);
      expect(list(claims.groups) === '/Staff/Accounts', `keycloak-js reads groups: ${list(claims.groups)}`);
      expect(ofClients['orders-api']?.roles.includes('approve') === true, `and resource_access: ${roles}`);
      const ofSpring = await callApi(`${addresses.spring}/api/me`, token, 200);
      see('Spring API', who, [], { sub: ofSpring, roles: 'clerk is let in' });
      const ofApi = JSON.parse(await callApi(`${addresses.api}/orders`, token, 200)) as ApiAnswer;
      expect(ofApi.name === who.username, `the API in Python reads the name: ${ofApi.name}`);
      see('Python API', who, [], {
        sub: ofApi.sub,
        roles: list(ofApi.roles),
        audience: 'orders-api is checked',
      });
    } else {
      await callApi(`${addresses.spring}/api/me`, token, 403);
      await callApi(`${addresses.api}/orders`, token, 403);
      for (const api of ['Spring API', 'Python API']) see(api, who, [], { sub, roles: 'is not let in: 403' });
    }
  }
  const { steps, shown } = await inBrowser(browser, ada, async (page) => walkProxy(page, ada));
  const audience = 'its client is checked';
  see('oauth2-proxy', ada, steps, { sub: shown.user, roles: list(shown.groups), audience });
  for (const { username } of [ada, dora]) {
    const subs = new Set(seen.filter(({ person }) => person === username).map(({ sub }) => sub));
    expect(subs.size === 1, `all applications know ${username} by one sub: ${[...subs].join(', ')}`);
  }
  return seen;
}

interface ApiAnswer {
  readonly sub: string;
  readonly name: string;
  readonly roles: readonly string[];
}

async function walkSpring(page: Page, who: Person) {
  await page.goto(addresses.spring);
  const steps = await signIn(page, who, addresses.spring);
  const claims = JSON.parse(await page.innerText('body')) as Readonly<Record<string, string>>;
  expect(claims['preferred_username'] === who.username, `Spring knows who it is: ${JSON.stringify(claims)}`);
  expect(claims['email'] === who.email, `Spring knows the address: ${JSON.stringify(claims)}`);
  await page.goto(`${addresses.spring}/logout`);
  await page.locator('button[type=submit]').click();
  await page.waitForURL((url) => url.href.startsWith(`${addresses.spring}/bye`));
  await page.goto(addresses.spring);
  await page.locator('input[name=password]').waitFor();
  return { steps, claims };
}

async function walkPage(page: Page, who: Person) {
  await page.goto(`${addresses.spa}/orders?page=2`);
  const steps = await signIn(page, who, addresses.spa);
  await page.waitForFunction('Boolean(document.querySelector("#claims")?.textContent)');
  const known = await page.evaluate(async () => {
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
  const { isRefreshed, profile, userInfo, subject, token } = known;
  const place = page.url();
  expect(place === `${addresses.spa}/orders?page=2`, `the page is the one that was asked for: ${place}`);
  expect(isRefreshed, 'keycloak-js gets another access token');
  expect(
    profile.username === who.username && profile.email === who.email,
    `the profile: ${JSON.stringify(profile)}`,
  );
  expect(userInfo.sub === subject, `userinfo: ${JSON.stringify(userInfo)}`);
  await page.evaluate(() => void (globalThis as unknown as WithKeycloak).keycloak.logout());
  // The page is opened again, and asks for a sign-in.
  await page.locator('input[name=password]').waitFor();
  return { steps, subject, token, claims: known.claims as Claims };
}

async function walkProxy(page: Page, who: Person) {
  await page.goto(`${addresses.proxy}/oauth2/start?rd=/oauth2/userinfo`);
  const steps = await signIn(page, who, addresses.proxy);
  const shown = JSON.parse(await page.innerText('body')) as { user: string; email: string; groups: string[] };
  expect(shown.email === who.email, `oauth2-proxy knows the address: ${JSON.stringify(shown)}`);
  expect(shown.groups.includes('role:clerk'), `and the roles: ${JSON.stringify(shown)}`);
  return { steps, shown };
}

/** Asks an API without a token, with one that nobody signed, and with this one, which must be answered so. */
async function callApi(url: string, token: string, expected: number): Promise<string> {
  const ask = async (authorization?: string) =>
    fetch(url, authorization === undefined ? {} : { headers: { authorization } });
  expect((await ask()).status === 401, `${url} answers 401 without a token`);
  const wrong = await ask(`Bearer ${token.slice(0, -8)}AAAAAAAA`);
  expect(wrong.status === 401, `${url} answers 401 to a wrong token`);
  const answer = await ask(`Bearer ${token}`);
  const text = await answer.text();
  const reason = answer.headers.get('www-authenticate') ?? '';
  expect(answer.status === expected, `${url} answers ${expected}: ${answer.status} ${text} ${reason}`);
  return text;
}
