import { activeClients, clientOf, username } from '../declared-state.ts';
import { eachOf, send, times } from '../driver/send.ts';
import { issueAccessTokens } from './client-credentials.ts';
import { mint, mintedClient } from './minted.ts';
import { warmUpOf, type HttpAnswer, type Operation, type Operations } from './operation.ts';
import {
  authorizationRequest,
  basicOf,
  issuePersonalTokens,
  openSignIn,
  sessionRequests,
  signInSome,
} from './people.ts';
import { cycle, form, get, member, okWith, once, turns } from './requests.ts';

/** Enough devices that none polls twice within its interval of a second, at up to thirty thousand polls a second. */
const devices = 30_000;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** Sign-ins per second for which forms are opened beforehand. */
const signInsPerSecond = 30;

const isPending = ({ status, text }: HttpAnswer): boolean =>
  status === 400 && text.includes('"authorization_pending"');
const isStarted = okWith('"auth_req_id":"');
const bringsCode = ({ status, headers }: HttpAnswer): boolean =>
  (status === 302 || status === 303) && String(headers['location']).includes('code=');

const userinfo: Operation = {
  async ours(target) {
    const tokens = await issuePersonalTokens(target, 1000);
    const requests = tokens.map(({ accessToken }) =>
      get('/userinfo', { authorization: `Bearer ${accessToken}` }),
    );
    return cycle(requests, okWith('"email":"'));
  },
  async peers(target) {
    const tokens = await mint(target, 'person-tokens', 1000);
    const requests = tokens.map(({ value }) => get('/me', { authorization: `Bearer ${value}` }));
    return cycle(requests, okWith('"email":"'));
  },
};

const devicePoll: Operation = {
  async ours(target) {
    const clients = activeClients(target);
    const next = turns(clients);
    const polls = await eachOf(times(devices), async () => {
      const client = next();
      const started = await send(
        target.baseUrl,
        form('/device_authorization', { client_id: client.clientId, scope: 'openid' }),
      );
      const deviceCode = member(started, 'device_code');
      return form('/token', { grant_type: deviceGrant, device_code: deviceCode }, basicOf(client));
    });
    return cycle(polls, isPending);
  },
  async peers(target) {
    const codes = await mint(target, 'device-codes', 2000);
    const polls = codes.map(({ value }) =>
      form('/token', { grant_type: deviceGrant, device_code: value }, basicOf(mintedClient)),
    );
    return cycle(polls, isPending);
  },
  async bare() {
    const poll = { grant_type: deviceGrant, device_code: `td_${'x'.repeat(43)}` };
    return cycle([form('/token', poll, basicOf(mintedClient))], isPending);
  },
};

/** `ciba-start` asks at most so many people. */
const mostAsked = 10_000;

const cibaStart: Operation = {
  async ours(target) {
    // Each person in turn, so that none has too many pending requests.
    const { tenants, people, active } = target.population;
    const requests = times(Math.min(tenants * people, mostAsked)).map((position) => {
      const tenant = position % tenants;
      const person = Math.floor(position / tenants);
      const client = clientOf(target.seed, tenant, person % active);
      const hint = username(tenant, person);
      return form('/backchannel_authentication', { scope: 'openid', login_hint: hint }, basicOf(client));
    });
    await issueAccessTokens(target, tenants * active);
    return cycle(requests, isStarted);
  },
  async peers(target) {
    await mint(target, 'ready', 1);
    const request = form('/backchannel', { scope: 'openid', login_hint: 'somebody' }, basicOf(mintedClient));
    return cycle([request], isStarted);
  },
};

const document = (path: string, peerPath: string, text: string): Operation => ({
  ours: async () => cycle([get(path)], okWith(text)),
  peers: async () => cycle([get(peerPath)], okWith(text)),
  bare: async () => cycle([get(path)], okWith(text)),
});

const configuration = '/.well-known/openid-configuration';

const signIn: Operation = {
  inFlight: 4,
  async ours(target, duration) {
    const limit = duration * signInsPerSecond;
    const count = Math.ceil(limit + warmUpOf(limit) + 20);
    const forms = await eachOf(times(count), async (index) => {
      const { tenants, people, active } = target.population;
      const tenant = index % tenants;
      return openSignIn(target, clientOf(target.seed, tenant, index % active), index % people);
    });
    return { kind: 'http', limit, next: once(forms), accept: bringsCode };
  },
  async bare(_target, duration) {
    const limit = duration * signInsPerSecond;
    return { ...cycle([form('/login', { password: 'a password' })], bringsCode), limit };
  },
};

const authorizeSession: Operation = {
  async ours(target) {
    const requests = sessionRequests(target, await signInSome(target)).map(({ request }) => request);
    return cycle(requests, bringsCode);
  },
  async peers(target) {
    const sessions = await mint(target, 'sessions', 20);
    const requests = sessions.map(({ value }) => {
      const { path, headers } = authorizationRequest(mintedClient, `_session=${value}`);
      return get(path.replace('/authorize', '/auth'), headers);
    });
    return cycle(requests, bringsCode);
  },
};

export const others = {
  userinfo,
  'device-poll': devicePoll,
  'ciba-start': cibaStart,
  discovery: document(configuration, configuration, '"issuer":"'),
  jwks: document('/.well-known/jwks.json', '/jwks', '"keys":['),
  'sign-in': signIn,
  'authorize-session': authorizeSession,
} satisfies Operations;
