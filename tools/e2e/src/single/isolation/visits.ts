import type { JsonObject } from '@bufbuild/protobuf';
import { randomBytes, randomInt } from 'node:crypto';
import { newPkce } from '@tessera/test-client';
import { redirectUri } from '../../harness/declared-state.ts';
import type { RpcAnswer } from '../../harness/rpc-calls.ts';
import { textAt } from './crossings.ts';
import type { NamedCalls } from './named-calls.ts';
import type { Names } from './names.ts';

export interface Session {
  readonly browser: JsonObject;
  readonly sessionId: string;
  readonly userId: string;
}

export type Visits = ReturnType<typeof visitsOf>;

/** What the declared person and the clients of a tenant do. Everything new is new at each call. */
export function visitsOf(names: Names, calls: NamedCalls) {
  const browsers = browsersOf(names, calls);
  const clients = clientsOf(names, calls, browsers);
  return { ...browsers, ...clients, ...decisionsOf(names, calls, { ...browsers, ...clients }) };
}

/** Sign-ins of the declared person. */
function browsersOf({ id, issuer, web, username, password }: Names, calls: NamedCalls) {
  const fields: JsonObject = { identifier: username, password };

  /** A browser without a session. */
  const browser = (): JsonObject => ({
    browserId: `tb_${randomBytes(32).toString('base64url')}`,
    ipAddress: newAddress(),
    userAgentHash: 'agent',
    issuer,
    tenantId: id,
  });

  const authorization = (challenge: string): JsonObject => ({
    client_id: web,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid offline_access',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });

  async function begin(from: JsonObject, parameters: JsonObject): Promise<JsonObject> {
    const { next } = await calls.get('AuthorizeService.Begin', { browser: from, request: { parameters } });
    return next as JsonObject;
  }

  /** A visit that waits for a password. */
  async function visit() {
    const from = browser();
    const next = await begin(from, authorization(newPkce().challenge));
    return { browser: from, interactionId: textAt(next, 'step', 'interaction', 'interactionId') };
  }

  /** A browser in which somebody has just signed in. @param totpCode of the app, if they need it */
  async function signedIn(given: JsonObject, totpCode?: string): Promise<JsonObject> {
    const at = await visit();
    const proceed = (step: string, form: JsonObject) =>
      calls.get('AuthorizeService.Continue', { ...at, step, fields: form });
    const first = await proceed('password', given);
    const { session } = totpCode === undefined ? first : await proceed('totp', { totp_code: totpCode });
    return { ...at.browser, sessionToken: textAt(session, 'sessionToken') };
  }

  /** A new session. */
  async function signIn(): Promise<Session> {
    const from = await signedIn(fields);
    const { session } = await calls.get('AuthorizeService.GetSession', { browser: from });
    return { browser: from, sessionId: textAt(session, 'sessionId'), userId: textAt(session, 'userId') };
  }

  let lasting: Promise<Session> | undefined;
  /** A session that lasts. */
  const session = (): Promise<Session> => (lasting ??= signIn());

  return { fields, browser, authorization, begin, visit, signedIn, signIn, session };
}

type Browsers = ReturnType<typeof browsersOf>;

/** What clients ask for. */
function clientsOf(names: Names, calls: NamedCalls, { authorization, begin, session }: Browsers) {
  const { id, issuer, web, partner, secret } = names;

  /** How a client's request arrives. */
  const caller = (): JsonObject => ({ ipAddress: newAddress(), issuer, tenantId: id });

  const credentials = (clientId = web): JsonObject => ({
    clientId,
    clientSecret: secret,
    method: 'CLIENT_AUTHENTICATION_METHOD_CLIENT_SECRET_POST',
  });

  async function code(of?: Session) {
    const { browser: from } = of ?? (await session());
    const { challenge, verifier } = newPkce();
    const next = await begin(from, authorization(challenge));
    const found = new URL(textAt(next, 'redirect', 'location')).searchParams.get('code') ?? '';
    return { code: found, codeVerifier: verifier, redirectUri };
  }

  const exchange = (parameters: JsonObject): Promise<RpcAnswer> =>
    calls.ask('TokenService.Exchange', { caller: caller(), credentials: credentials(), ...parameters });

  async function tokens(of?: Session) {
    const { message } = await exchange({ grantType: 'authorization_code', ...(await code(of)) });
    return {
      accessToken: textAt(message, 'accessToken'),
      refreshToken: textAt(message, 'refreshToken'),
      idToken: textAt(message, 'idToken'),
    };
  }

  return {
    caller,
    credentials,
    code,
    exchange,
    tokens,

    /** Whether a refresh token is still worth something. */
    refreshes: async (refreshToken: string): Promise<boolean> =>
      (await exchange({ grantType: 'refresh_token', refreshToken })).code === 0,

    /** The third-party application, which the person of `session` has allowed what it asks for. */
    async consented() {
      const { browser: from } = await session();
      const asked = { ...authorization(newPkce().challenge), client_id: partner, scope: 'openid' };
      const next = await begin(from, asked);
      if (next['redirect'] === undefined)
        await calls.get('AuthorizeService.Continue', {
          browser: from,
          interactionId: textAt(next, 'step', 'interaction', 'interactionId'),
          step: 'consent',
          fields: { consent: 'allow' },
        });
      return { browser: from, clientId: partner };
    },
  };
}

type Asking = Pick<Browsers, 'session'> & Pick<ReturnType<typeof clientsOf>, 'caller'>;

/** Requests that the person decides elsewhere. */
function decisionsOf(names: Names, calls: NamedCalls, { session, caller }: Asking) {
  const { id, tv, desk, secret, username } = names;

  async function approver() {
    const { sessionId, userId } = await session();
    const authentication = { time: Math.floor(Date.now() / 1000), methods: ['pwd'] };
    return { tenantId: id, userId, sessionId, ipAddress: newAddress(), authentication };
  }

  async function device() {
    const request = { caller: caller(), credentials: { clientId: tv }, scope: 'openid' };
    const started = await calls.get('DeviceAuthorizationService.StartDeviceAuthorization', request);
    return { deviceCode: textAt(started, 'deviceCode'), userCode: textAt(started, 'userCode') };
  }

  /** An `auth_req_id`. */
  async function ciba(): Promise<string> {
    const started = await calls.get('BackchannelAuthenticationService.StartBackchannelAuthentication', {
      caller: caller(),
      credentials: { clientId: desk, clientSecret: secret, attempted: true },
      scope: 'openid',
      loginHint: username,
    });
    return textAt(started, 'authReqId');
  }

  return {
    device,
    ciba,

    /** A request at `/device` that waits for a decision, and who may decide. */
    async deviceRequest() {
      const { userCode } = await device();
      const by = await approver();
      const { authentication: _, ...who } = by;
      const found = await calls.get('DeviceAuthorizationService.GetDeviceAuthorization', {
        userCode,
        ...who,
      });
      return { requestId: textAt(found, 'request', 'requestId'), approver: by };
    },

    async cibaRequest() {
      await ciba();
      const by = await approver();
      const listed = await calls.get('BackchannelAuthenticationService.ListBackchannelAuthentications', {
        tenantId: id,
        userId: by.userId,
      });
      const last = (listed['requests'] as JsonObject[]).at(-1);
      return { requestId: textAt(last, 'requestId'), approver: by };
    },
  };
}

/** So that tests share no limit per address. */
function newAddress(): string {
  return `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
}
