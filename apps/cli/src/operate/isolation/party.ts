import type { JsonObject } from '@bufbuild/protobuf';
import { calculatePKCECodeChallenge, randomPKCECodeVerifier } from 'openid-client';
import { systemRandom } from '@tessera/kit';
import { adminAudience, endpointPaths, otherPaths } from '@tessera/oauth';
import { CommandError, type Terminal } from '../../terminal.ts';
import type { Administration } from './administration.ts';
import { answerOf, askEndpoint, Browser, type Asked, type Fields, type Page, type Place } from './browser.ts';
import { textAt } from './crossing.ts';
import { newPasskey, type Passkey } from './software-passkey.ts';
import { randomName, type ThrowAwayTenant } from './throw-away-tenants.ts';

export type Client = 'web' | 'tv' | 'desk' | 'robot';

/** The clients and the people of a tenant. */
export type Party = ReturnType<typeof createParty>;

/** @param place at which they ask: the shared issuer, or that of the tenant */
export function createParty(
  tenant: ThrowAwayTenant,
  place: Place,
  administration: Administration,
  terminal: Terminal,
) {
  const { call } = administration;
  const { ask, post, got } = clientsOf(tenant, place, terminal);
  const people = peopleOf(tenant, place, administration, terminal);

  async function newCode() {
    const { browser } = await people.person();
    const { page, verifier } = await people.authorize(browser);
    const code = page.location?.searchParams.get('code') ?? '';
    return { code, code_verifier: verifier, redirect_uri: tenant.redirectUri };
  }

  async function newTokens() {
    const form = { grant_type: 'authorization_code', ...(await newCode()) };
    const token = await got('web', endpointPaths.token, form);
    return { access: token('access_token'), refresh: token('refresh_token'), id: token('id_token') };
  }

  async function startDevice() {
    const started = await got('tv', endpointPaths.deviceAuthorization, { scope: 'openid' });
    return { deviceCode: started('device_code'), userCode: started('user_code') };
  }

  /** Asks a new person. */
  async function startCiba(password?: 'password') {
    const asked = await people.newPerson(password);
    const form = { scope: 'openid', login_hint: asked.username };
    const started = await got('desk', endpointPaths.backchannelAuthentication, form);
    const waiting = await call('ApprovalsService.List', { tenantId: tenant.id, userId: asked.userId });
    const approvalId = textAt(waiting, 'approvals', '0', 'approvalId');
    return { ...asked, authReqId: started('auth_req_id'), approvalId };
  }

  return {
    ...tenant,
    ...administration,
    ...people,
    origin: new URL(place.issuer).origin,
    ask: async (path: string, asked: Asked) => answerOf(await ask(path, asked)),
    post: async (client: Client, path: string, form: Fields) => answerOf(await post(client, path, form)),
    authorize: async (browser: Browser, given: Fields = {}) => (await people.authorize(browser, given)).page,
    newCode,
    newTokens,
    tokens: once(newTokens),
    startDevice,
    startCiba,
    /** Of its administrator. */
    token: once(async () => {
      const form = { grant_type: 'client_credentials', resource: adminAudience };
      return (await got('robot', endpointPaths.token, form))('access_token');
    }),
  };
}

function clientsOf(tenant: ThrowAwayTenant, place: Place, terminal: Terminal) {
  const ask = async (path: string, asked: Asked) => askEndpoint(place, path, asked, terminal);
  const post = async (client: Client, path: string, form: Fields) => {
    const secret = client === 'tv' ? {} : { client_secret: tenant.secret };
    return ask(path, { form: { client_id: tenant[client], ...secret, ...form } });
  };
  return {
    ask,
    post,
    /** The texts of an answer, which must be good. Throws CommandError otherwise. */
    async got(client: Client, path: string, form: Fields): Promise<(name: string) => string> {
      const { status, body } = await post(client, path, form);
      if (status === 200) return (name) => textAt(body, name);
      const reason = textAt(body, 'error_description') || textAt(body, 'error');
      throw new CommandError(`${path} answered with status ${status}: ${reason}`);
    },
  };
}

function peopleOf(tenant: ThrowAwayTenant, place: Place, { call }: Administration, terminal: Terminal) {
  const { id, secret } = tenant;
  const newBrowser = (cookies: Fields = {}): Browser => new Browser(place, terminal, cookies);

  async function authorize(browser: Browser, given: Fields = {}): Promise<{ page: Page; verifier: string }> {
    const verifier = randomPKCECodeVerifier();
    const query = new URLSearchParams({
      client_id: tenant.web,
      redirect_uri: tenant.redirectUri,
      response_type: 'code',
      scope: `openid offline_access ${tenant.sharedScope}`,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...given,
    });
    return { page: await browser.open(`${endpointPaths.authorization}?${query.toString()}`), verifier };
  }

  async function signIn(browser: Browser, fields: Fields): Promise<Page> {
    const { page } = await authorize(browser);
    const { username: identifier, password } = tenant;
    return browser.submit(page, 'identifier', { identifier, password, ...fields });
  }

  async function signInWith(browser: Browser, passkey: Passkey): Promise<Page> {
    const { page } = await authorize(browser);
    return browser.submit(page, 'passkey_nonce', { passkey: passkey.sign(optionsOf(page)) });
  }

  /** @param password whether they have one, whose hash costs time */
  async function newPerson(password?: 'password') {
    const username = randomName(id);
    const user: JsonObject = { username, ...(password && { password: secret }) };
    const userId = textAt(await call('UsersService.Create', { tenantId: id, user }), 'userId');
    return { userId, username, password: secret };
  }

  /** A new person, signed in. */
  async function signedIn() {
    const person = await newPerson('password');
    const browser = newBrowser();
    const { location } = await signIn(browser, { identifier: person.username, password: person.password });
    if (location?.searchParams.has('code')) return { ...person, browser };
    throw new CommandError('the person of a throw-away tenant cannot sign in');
  }

  /** Lets a person allow the third-party application what it asks for, unless they have. */
  async function allowPartner(browser: Browser): Promise<void> {
    const { page } = await authorize(browser, { client_id: tenant.partner, scope: 'openid' });
    if (page.location === undefined) await browser.submit(page, 'interaction', { consent: 'allow' });
  }

  /** The one-time link of a new person without a password. */
  async function newLink() {
    const { userId } = await newPerson();
    const asked = { tenantId: id, userId, purpose: 'invitation' };
    const uri = textAt(await call('UsersService.CreatePasswordLink', asked), 'uri');
    return { userId, link: new URL(uri, place.issuer).searchParams.get('link') ?? '' };
  }

  return {
    newBrowser,
    authorize,
    signIn,
    signInWith,
    newPerson,
    signedIn,
    /** The one who does what needs no new person. */
    person: once(signedIn),
    allowPartner,
    /** Two who can allow something. */
    couple: once(async () => [await signedIn(), await signedIn()] as const),
    newLink,
    /** A new person who made a passkey with their link, and signed in with it. */
    withPasskey: once(async () => {
      const { link, userId } = await newLink();
      const browser = newBrowser();
      const page = await browser.open(`${otherPaths.passwordLink}?link=${link}`);
      const options = optionsOf(page);
      const handle = textAt(JSON.parse(options) as JsonObject, 'user', 'id');
      const { origin } = new URL(place.issuer);
      const passkey = newPasskey(origin, systemRandom.bytes(16).toString('base64url'), handle);
      await browser.submit(page, 'passkey_nonce', { passkey_created: passkey.create(options) });
      await signInWith(browser, passkey);
      return { userId, browser, passkey };
    }),
    /** The requests that wait for a person, who signs in before. */
    async approvalsOf({ username: identifier, password }: { username: string; password: string }) {
      const browser = newBrowser();
      const page = await browser.open(`${otherPaths.approvals}?tenant=${id}`);
      return { browser, page: await browser.submit(page, 'identifier', { identifier, password }) };
    },
  };
}

/** What a page asks a browser for that has a passkey, as JSON. */
function optionsOf({ forms }: Page): string {
  const asking = forms.find(({ options }) => options !== '');
  if (asking !== undefined) return asking.options;
  throw new CommandError('a page asks for no passkey, as on a host that is an IP address');
}

/** Makes a value when it is first asked for. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return async () => (made ??= make());
}
