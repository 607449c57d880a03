import type { JsonObject } from '@bufbuild/protobuf';
import { seen, type Fields } from './browser.ts';
import type { GoodRequest } from './crossing.ts';
import { newPasskey } from './software-passkey.ts';
import type { Client, Party } from './party.ts';
import { all, at, cibaGrant, deviceGrant, fieldOf, said, type PublicRequest } from './public-request.ts';
import { requestsOfPeople } from './requests-of-people.ts';

/** What a tenant has that others may try, by what it is. */
const values = {
  'a code': async (of) => of.newCode(),
  'a refresh token to use': async (of) => ({ refresh_token: (await of.newTokens()).refresh }),
  'a device code': async (of) => ({ device_code: (await of.startDevice()).deviceCode }),
  'an auth_req_id': async (of) => ({ auth_req_id: (await of.startCiba()).authReqId }),
  'what is asked for': async ({ scope, audience }) => ({ scope, resource: audience }),
  credentials: async ({ web, secret }) => ({ client_id: web, client_secret: secret }),
  'an access token': async (of) => ({ token: (await of.newTokens()).access }),
  'a refresh token': async (of) => ({ token: (await of.newTokens()).refresh }),
  'an ID token': async (of) => ({ id_token_hint: (await of.tokens()).id }),
  'a device client': async ({ tv }) => ({ client_id: tv }),
  'a person': async (of) => ({ login_hint: (await of.newPerson()).username }),
  'a redirect URI': async ({ redirectUri }) => ({ redirect_uri: redirectUri }),
  'a client': async ({ web, redirectUri }) => ({ client_id: web, redirect_uri: redirectUri }),
  'a session': async (of) => (await of.person()).browser.cookies,
  'a password': async ({ username, password }) => ({ identifier: username, password }),
  'a passkey': async (of) => ({ passkey: (await of.withPasskey()).passkey.id }),
  'a link': async (of) => ({ link: (await of.newLink()).link }),
} as const satisfies Readonly<Record<string, (of: Party) => Promise<Fields>>>;

type Ask = PublicRequest['ask'];

/** A request with what a tenant has. */
const request = (
  path: string,
  what: keyof typeof values,
  ask: Ask,
  more: Partial<PublicRequest> = {},
): PublicRequest => ({ path, what, values: values[what], ask, ...more });

const ownIssuer = { atOwnIssuer: true } as const;

/** A client posts a form. */
const post =
  (client: Client, path: string, form: Fields = {}): Ask =>
  async (as, given) =>
    as.post(client, path, { ...form, ...given });

/** Somebody opens a page in a new browser. */
const open =
  (path: string, more: (as: Party) => Fields = () => ({})): Ask =>
  async (as, given) =>
    seen(await as.newBrowser().open(`${path}?${new URLSearchParams({ ...given, ...more(as) }).toString()}`));

const authorize: Ask = async (as, given) => seen(await as.authorize(as.newBrowser(), given));

const ownBehalf = { grant_type: 'client_credentials' };

const ofClients: readonly PublicRequest[] = [
  request(at.token, 'a code', post('web', at.token, { grant_type: 'authorization_code' })),
  request(at.token, 'a refresh token to use', post('web', at.token, { grant_type: 'refresh_token' })),
  request(at.token, 'a device code', post('tv', at.token, deviceGrant)),
  request(at.token, 'an auth_req_id', post('desk', at.token, cibaGrant)),
  request(at.token, 'what is asked for', post('web', at.token, ownBehalf)),
  request(at.token, 'credentials', post('web', at.token, ownBehalf), { apart: true }),
  request(at.introspection, 'an access token', post('web', at.introspection)),
  request(at.introspection, 'a refresh token', post('web', at.introspection)),
  request(at.revocation, 'an access token', post('web', at.revocation)),
  request(at.revocation, 'a refresh token', async (as, given, owner, owned) =>
    all(await as.post('web', at.revocation, given), await owner.post('web', at.introspection, owned)),
  ),
  request(
    at.userinfo,
    'an access token',
    async (as, { token }) => as.ask(at.userinfo, { bearer: token }),
    ownIssuer,
  ),
  request(
    at.forwardAuth,
    'an access token',
    async (as, { token }) => as.ask(`${at.forwardAuth}?audience=${as.sharedAudience}`, { bearer: token }),
    ownIssuer,
  ),
  request(at.deviceAuthorization, 'a device client', post('tv', at.deviceAuthorization), ownIssuer),
  // Nobody learns whether there is such a person.
  request(at.backchannelAuthentication, 'a person', async (as, given, owner, owned) => {
    const answer = await as.post('desk', at.backchannelAuthentication, { scope: 'openid', ...given });
    const identified = { tenantId: owner.id, identifier: owned['login_hint'] ?? '' };
    const { user } = await owner.call('DirectoryService.FindUser', identified);
    const { approvals } = await owner.call('ApprovalsService.List', {
      tenantId: owner.id,
      userId: (user as JsonObject)['userId'] ?? '',
    });
    return all(answer, said(approvals === undefined ? 'nobody is asked' : 'the owner is asked'));
  }),
];

const ofPages: readonly PublicRequest[] = [
  request(at.authorization, 'a redirect URI', authorize),
  request(at.authorization, 'a client', authorize, ownIssuer),
  request(at.authorization, 'a session', async (as, cookies) => {
    const { location } = await as.authorize(as.newBrowser(cookies));
    return said(location?.searchParams.has('code') ? 'a code' : 'no code');
  }),
  request(
    at.authorization,
    'an ID token',
    async (as, given) => seen(await as.authorize((await as.person()).browser, { prompt: 'none', ...given })),
    // With the published keys, everybody sees that it is one.
    { open: ['id_token_hint'] },
  ),
  request(at.login, 'a password', async (as, given) => seen(await as.signIn(as.newBrowser(), given))),
  request(at.login, 'a passkey', async (as, { passkey: id = '' }, owner) => {
    const { passkey } = await owner.withPasskey();
    const used = passkey.id === id ? passkey : newPasskey(as.origin, id, passkey.userHandle);
    return seen(await as.signInWith(as.newBrowser(), used));
  }),
  {
    path: at.login,
    what: 'a sign-in that waits',
    apart: true,
    async values(of) {
      const browser = of.newBrowser();
      const { forms } = await of.authorize(browser);
      return { interaction: fieldOf(forms, 'interaction'), browser: browser.cookies.browser };
    },
    ask: async (as, { interaction = '', browser = '' }) =>
      seen(await as.newBrowser({ browser }).open(`${at.login}?interaction=${interaction}`)),
  },
  request(
    at.endSession,
    'an ID token',
    open(at.endSession, ({ web }) => ({ client_id: web })),
    {
      what: 'an ID token and a client',
    },
  ),
  request(
    at.endSession,
    'an ID token',
    async (as, given, owner, owned) => {
      const there = open(at.endSession, () => ({ post_logout_redirect_uri: as.loggedOutUri }));
      const { words } = await there(as, given, owner, owned);
      return said(words.startsWith(`sent to ${as.loggedOutUri}`) ? 'sent there' : 'not sent there');
    },
    { what: 'an ID token and an address' },
  ),
  request(at.passwordLink, 'a link', open(at.passwordLink), ownIssuer),
  request(
    at.passwordLink,
    'a link',
    async (as, { link = '' }) => {
      const passwords = { new_password: as.secret, repeated_password: as.secret };
      const { browser } = await as.person();
      return seen(await browser.send(at.passwordLink, ['password-link', link], { link, ...passwords }));
    },
    { what: 'a link and a new password', ...ownIssuer },
  ),
  ...[
    at.account,
    at.accountSignIn,
    at.accountDevices,
    at.accountApplications,
    at.accountActivity,
    at.accountProfile,
    at.password,
    at.approvals,
  ].map((path) =>
    request(
      path,
      'a session',
      async (as, cookies) => seen(await as.newBrowser(cookies).open(path)),
      ownIssuer,
    ),
  ),
];

const requests: readonly PublicRequest[] = [...ofClients, ...ofPages, ...requestsOfPeople];

/** @param isShared whether the tenants ask at the shared issuer */
export function publicRequests(isShared: boolean): readonly GoodRequest<Party>[] {
  return requests
    .filter(({ atOwnIssuer }) => isShared === (atOwnIssuer === undefined))
    .map(({ path, what, atOwnIssuer: _, ...good }) => ({
      ...good,
      name: `${path}${isShared ? '' : ' of its own issuer'}, ${what},`,
      ask: async (as, values, owner, owned) => good.ask(as, values as Fields, owner, owned as Fields),
    }));
}

const none = 'it takes nothing of a tenant';
const mails = 'it mails a link, and tells nobody whether there is such an account';
const atProvider = 'its values come from a provider, which throw-away tenants do not have';

/** Paths without a request here, each with the reason. */
const withoutCrossing: Readonly<Record<string, string>> = {
  [at.jwks]: none,
  [at.openidConfiguration]: none,
  [at.authorizationServerMetadata]: none,
  [at.relatedOrigins]: none,
  [at.assets]: none,
  [at.readiness]: none,
  [at.emailLink]: 'its link is in a mail',
  [at.forgottenPassword]: mails,
  [at.registration]: mails,
  [at.backchannelDecision]: 'its secret went to the address of an application',
  [at.providerAnswer]: atProvider,
  [at.providerLogout]: atProvider,
  [at.afterProvider]: atProvider,
};

/** Paths of the server of which it is not known whether they take something of a tenant. */
export const unknownPaths: readonly string[] = Object.values(at).filter(
  (path) => !(path in withoutCrossing) && !requests.some((request) => request.path === path),
);
