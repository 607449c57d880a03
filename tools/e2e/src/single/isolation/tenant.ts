import { getOption, type JsonObject } from '@bufbuild/protobuf';
import { URI, type TOTP } from 'otpauth';
import { randomBytes, randomInt } from 'node:crypto';
import { Code } from '@tessera/rpc';
import { access } from '@tessera/proto-gen/access';
import { SoftwareAuthenticator } from '@tessera/test-kit';
import { newPkce } from '@tessera/test-client';
import { redirectUri } from '../../harness/declared-state.ts';
import { textAt } from './crossings.ts';
import { servedMethods, type RpcAnswer, type RpcCalls } from '../../harness/rpc-calls.ts';

const password = 'slide-rule-1622-gus';
const passwordHash =
  '$argon2id$v=19$m=19456,t=2,p=1$nnZMtLeOKcUteTVu15WqmA$mqUrACtRtCtnSGHaM+E0AFLY3xNVYpkXZLG+gMRBWXI';

/** Calls methods by their names, such as `TokenService.Exchange` or `admin.UsersService.Get`, as the first process that may. */
export class NamedCalls {
  readonly #calls: RpcCalls;

  constructor(calls: RpcCalls) {
    this.#calls = calls;
  }

  ask(name: string, request: JsonObject): Promise<RpcAnswer> {
    const served = servedMethods.find(({ method }) => nameOf(method) === name);
    if (served === undefined) throw new Error(`there is no ${name}`);
    return this.#calls.ask(served, getOption(served.method, access).callers[0] ?? '', request);
  }

  /** The message of a call that must succeed. On a busy machine a store may miss its limit, which a caller repeats. */
  async get(name: string, request: JsonObject, attempt = 1): Promise<JsonObject> {
    const { code, details, message } = await this.ask(name, request);
    if (code === unavailable && attempt < 5) return this.get(name, request, attempt + 1);
    if (code !== 0) throw new Error(`${name} failed with ${code}: ${details}`);
    return message;
  }
}

const unavailable: number = Code.Unavailable;

type Method = (typeof servedMethods)[number]['method'];

export const nameOf = ({ parent, name }: Method): string =>
  parent.typeName.replace(/^tessera\.(?:(admin)|\w+)\.v1\./, (_all, admin?: string) =>
    admin === undefined ? '' : 'admin.',
  ) + `.${name}`;

/** A tenant with an issuer of its own, and what its people and clients get from it. Everything new is new at each call. */
export class Tenant {
  readonly id: string;
  readonly issuer: string;
  readonly web: string;
  readonly partner: string;
  readonly tv: string;
  readonly desk: string;
  readonly secret: string;
  readonly username: string;
  readonly audience: string;
  readonly provider: string;
  readonly providerIssuer: string;
  readonly #calls: NamedCalls;
  #session: Promise<Session> | undefined;
  #passkey: Promise<{ userId: string; credentialId: string }> | undefined;

  constructor(calls: NamedCalls, id: string, baseUrl: string) {
    this.#calls = calls;
    this.id = id;
    this.issuer = `${baseUrl}/t/${id}`;
    this.web = `${id}-web`;
    this.partner = `${id}-partner`;
    this.tv = `${id}-tv`;
    this.desk = `${id}-desk`;
    this.secret = `${id}-secret-${randomBytes(16).toString('hex')}`;
    this.username = `${id}.gus`;
    this.audience = `https://api.${id}.example`;
    this.provider = `${id}-provider`;
    this.providerIssuer = `https://provider.${id}.example`;
  }

  /** What `apply` makes of it, as YAML. */
  declared(): string {
    const { id, issuer, web, partner, tv, desk, secret, username, audience, provider, providerIssuer } = this;
    return `
  - id: ${id}
    name: Tenant
    issuer: ${issuer}
    registration: open
    accountClosing: true
    signInMethods: [mail-code]
    roles: [${id}-clerk]
    resources: [{audience: "${audience}", name: API, scopes: [${id}.read]}]
    providers: [{name: ${provider}, issuer: "${providerIssuer}", clientId: ${web}, clientSecret: "${secret}", createsAccounts: true}]
    users: [{username: ${username}, email: gus@${id}.example, name: Gus, roles: [${id}-clerk], passwordHash: "${passwordHash}"}]
    applications:
      - clientId: ${web}
        name: Web
        type: confidential
        secrets: [{value: "${secret}"}]
        grantTypes: [authorization_code, refresh_token, client_credentials]
        redirectUris: ["${redirectUri}"]
        logoutRedirectUris: ["${redirectUri}"]
        scopes: [openid, profile, offline_access, ${id}.read]
      - {clientId: ${partner}, name: Partner, type: public, grantTypes: [authorization_code], redirectUris: ["${redirectUri}"], scopes: [openid], thirdParty: true}
      - {clientId: ${tv}, name: TV, type: public, grantTypes: [device_code], scopes: [openid]}
      - clientId: ${desk}
        name: Desk
        type: confidential
        secrets: [{value: "${secret}"}]
        grantTypes: [ciba]
        scopes: [openid]
        ciba: {approval: page}
`;
  }

  /** How a client's request arrives. */
  caller(): JsonObject {
    return { ipAddress: newAddress(), issuer: this.issuer, tenantId: this.id };
  }

  credentials(clientId = this.web): JsonObject {
    return {
      clientId,
      clientSecret: this.secret,
      method: 'CLIENT_AUTHENTICATION_METHOD_CLIENT_SECRET_POST',
    };
  }

  /** A browser without a session. */
  browser(): JsonObject {
    return {
      browserId: `tb_${randomBytes(32).toString('base64url')}`,
      ipAddress: newAddress(),
      userAgentHash: 'agent',
      issuer: this.issuer,
      tenantId: this.id,
    };
  }

  authorization(challenge: string): JsonObject {
    return {
      client_id: this.web,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid offline_access',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    };
  }

  get fields(): JsonObject {
    return { identifier: this.username, password };
  }

  /** A visit that waits for a password. */
  async visit(): Promise<{
    browser: JsonObject;
    interactionId: string;
    challenge: string;
    verifier: string;
  }> {
    const { challenge, verifier } = newPkce();
    const browser = this.browser();
    const request = { parameters: this.authorization(challenge) };
    const { next } = await this.#calls.get('AuthorizeService.Begin', { browser, request });
    return {
      browser,
      interactionId: textAt(next, 'step', 'interaction', 'interactionId'),
      challenge,
      verifier,
    };
  }

  /** A new session. */
  async signIn(): Promise<Session> {
    const { browser, interactionId } = await this.visit();
    const request = { browser, interactionId, step: 'password', fields: this.fields };
    const { session: opened } = await this.#calls.get('AuthorizeService.Continue', request);
    const signedIn = { ...browser, sessionToken: textAt(opened, 'sessionToken') };
    const { session } = await this.#calls.get('AuthorizeService.GetSession', { browser: signedIn });
    return {
      browser: signedIn,
      sessionId: textAt(session, 'sessionId'),
      userId: textAt(session, 'userId'),
    };
  }

  /** A session that lasts. */
  session(): Promise<Session> {
    this.#session ??= this.signIn();
    return this.#session;
  }

  async code(session?: Session): Promise<{ code: string; codeVerifier: string; redirectUri: string }> {
    const { browser } = session ?? (await this.session());
    const { challenge, verifier } = newPkce();
    const request = { parameters: this.authorization(challenge) };
    const { next } = await this.#calls.get('AuthorizeService.Begin', { browser, request });
    const code = new URL(textAt(next, 'redirect', 'location')).searchParams.get('code') ?? '';
    return { code, codeVerifier: verifier, redirectUri };
  }

  async exchange(parameters: JsonObject): Promise<RpcAnswer> {
    const request = { caller: this.caller(), credentials: this.credentials(), ...parameters };
    return this.#calls.ask('TokenService.Exchange', request);
  }

  async tokens(session?: Session): Promise<{ accessToken: string; refreshToken: string; idToken: string }> {
    const { message } = await this.exchange({
      grantType: 'authorization_code',
      ...(await this.code(session)),
    });
    const [accessToken, refreshToken, idToken] = ['accessToken', 'refreshToken', 'idToken'].map((name) =>
      textAt(message, name),
    );
    return { accessToken: accessToken ?? '', refreshToken: refreshToken ?? '', idToken: idToken ?? '' };
  }

  /** Whether a refresh token is still worth something. */
  async refreshes(refreshToken: string): Promise<boolean> {
    return (await this.exchange({ grantType: 'refresh_token', refreshToken })).code === 0;
  }

  async device(): Promise<{ deviceCode: string; userCode: string }> {
    const started = await this.#calls.get('DeviceAuthorizationService.StartDeviceAuthorization', {
      caller: this.caller(),
      credentials: { clientId: this.tv },
      scope: 'openid',
    });
    return { deviceCode: textAt(started, 'deviceCode'), userCode: textAt(started, 'userCode') };
  }

  /** A request at `/device` that waits for a decision, and who may decide. */
  async deviceRequest(): Promise<{ deviceCode: string; requestId: string; approver: JsonObject }> {
    const { deviceCode, userCode } = await this.device();
    const approver = await this.approver();
    const { request } = await this.#calls.get('DeviceAuthorizationService.GetDeviceAuthorization', {
      userCode,
      ...pick(approver, 'sessionId', 'tenantId', 'userId', 'ipAddress'),
    });
    return { deviceCode, requestId: textAt(request, 'requestId'), approver };
  }

  async ciba(): Promise<string> {
    const started = await this.#calls.get('BackchannelAuthenticationService.StartBackchannelAuthentication', {
      caller: this.caller(),
      credentials: { clientId: this.desk, clientSecret: this.secret, attempted: true },
      scope: 'openid',
      loginHint: this.username,
    });
    return textAt(started, 'authReqId');
  }

  async cibaRequest(): Promise<{ requestId: string; approver: JsonObject }> {
    await this.ciba();
    const approver = await this.approver();
    const { requests } = await this.#calls.get(
      'BackchannelAuthenticationService.ListBackchannelAuthentications',
      pick(approver, 'tenantId', 'userId'),
    );
    const last = (requests as JsonObject[]).at(-1) ?? {};
    return { requestId: textAt(last, 'requestId'), approver };
  }

  async approver(): Promise<JsonObject> {
    const { sessionId, userId } = await this.session();
    const time = Math.floor(Date.now() / 1000);
    const authentication = { time, methods: ['pwd'] };
    return { tenantId: this.id, userId, sessionId, ipAddress: newAddress(), authentication };
  }

  /** A new record of a kind, made through administration. */
  async record(noun: 'User' | 'Application' | 'Resource' | 'Role', record: JsonObject): Promise<JsonObject> {
    const request = { tenantId: this.id, [noun.toLowerCase()]: record };
    return this.#calls.get(`admin.${noun}sService.Create`, request);
  }

  /** Deletes a record that administration made. */
  async forget(noun: 'User' | 'Application', key: JsonObject): Promise<void> {
    await this.#calls.get(`admin.${noun}sService.Delete`, { tenantId: this.id, ...key });
  }

  /** Adds a secret to an application; resolves with its identifier. */
  async newSecret(clientId: string): Promise<string> {
    const made = await this.#calls.get('admin.ApplicationsService.CreateSecret', {
      tenantId: this.id,
      clientId,
    });
    return textAt(made, 'secretId');
  }

  /** A one-time link of a new person. */
  async passwordLink(): Promise<string> {
    const person = await this.record('User', { username: this.newName() });
    const made = await this.#calls.get('admin.UsersService.CreatePasswordLink', {
      tenantId: this.id,
      userId: textAt(person, 'userId'),
      purpose: 'invitation',
    });
    return new URL(textAt(made, 'uri')).searchParams.get('link') ?? '';
  }

  /** An authenticator app that a new person may enrol. */
  async proposal() {
    const person = await this.record('User', { username: this.newName() });
    return { tenantId: this.id, userId: textAt(person, 'userId'), seed: this.newName() };
  }

  /** The codes of that app, of this time step and of the next. Both are taken for at least 30 s. */
  async codeOf(proposal: JsonObject): Promise<{ readonly code: string; readonly next: string }> {
    const proposed = await this.#calls.get('DirectoryService.ProposeTotp', proposal);
    const app = URI.parse(textAt(proposed, 'uri')) as TOTP;
    const now = Date.now();
    return { code: app.generate({ timestamp: now }), next: app.generate({ timestamp: now + 30_000 }) };
  }

  /** A code of an app that a new person has enrolled. */
  async secondFactor() {
    const proposal = await this.proposal();
    const { code, next } = await this.codeOf(proposal);
    await this.#calls.get('DirectoryService.EnrolTotp', { ...proposal, code });
    const { tenantId, userId } = proposal;
    return { tenantId, userId, code: next };
  }

  /** A passkey that a new person may enrol, as the browser has made it. */
  async newPasskey(more: JsonObject = {}) {
    const person = await this.record('User', { username: this.newName(), ...more });
    const { origin, hostname: rpId } = new URL(this.issuer);
    const key = new SoftwareAuthenticator(origin, true);
    const asked = () => ({ rpId, origin, challenge: randomBytes(32).toString('base64url') });
    const proposal = { tenantId: this.id, userId: textAt(person, 'userId'), ceremony: asked() };
    const proposed = await this.#calls.get('DirectoryService.ProposePasskey', proposal);
    const response = key.create(textAt(proposed, 'options'));
    return { key, asked, proposal, enrolment: { ...proposal, response } };
  }

  /** A passkey of the person of `session`. */
  ownPasskey(): Promise<{ readonly userId: string; readonly credentialId: string }> {
    this.#passkey ??= this.#enrolPasskey();
    return this.#passkey;
  }

  async #enrolPasskey() {
    const { userId } = await this.session();
    const { origin, hostname: rpId } = new URL(this.issuer);
    const ceremony = { rpId, origin, challenge: randomBytes(32).toString('base64url') };
    const proposal = { tenantId: this.id, userId, ceremony };
    const proposed = await this.#calls.get('DirectoryService.ProposePasskey', proposal);
    const response = new SoftwareAuthenticator(origin, true).create(textAt(proposed, 'options'));
    await this.#calls.get('DirectoryService.EnrolPasskey', { ...proposal, response });
    return { userId, credentialId: textAt(JSON.parse(response) as JsonObject, 'id') };
  }

  /** A new person who has signed in with a second factor, and has a passkey too. */
  async sureOfPasskey(): Promise<{ readonly browser: JsonObject; readonly passkeyId: string }> {
    const identifier = this.newName();
    const { enrolment } = await this.newPasskey({ username: identifier, password });
    await this.#calls.get('DirectoryService.EnrolPasskey', enrolment);
    const { tenantId, userId, response } = enrolment;
    const proposal = { tenantId, userId, seed: this.newName() };
    const { code, next } = await this.codeOf(proposal);
    await this.#calls.get('DirectoryService.EnrolTotp', { ...proposal, code });
    const { browser, interactionId } = await this.visit();
    const at = { browser, interactionId };
    const fields = { identifier, password };
    await this.#calls.get('AuthorizeService.Continue', { ...at, step: 'password', fields });
    const second = { ...at, step: 'totp', fields: { totp_code: next } };
    const { session } = await this.#calls.get('AuthorizeService.Continue', second);
    const passkeyId = textAt(JSON.parse(response) as JsonObject, 'id');
    return { browser: { ...browser, sessionToken: textAt(session, 'sessionToken') }, passkeyId };
  }

  /** A passkey that a new person has enrolled. */
  async enrolledPasskey() {
    const { enrolment } = await this.newPasskey({ password });
    await this.#calls.get('DirectoryService.EnrolPasskey', enrolment);
    const { tenantId, userId, response } = enrolment;
    return { tenantId, userId, credentialId: textAt(JSON.parse(response) as JsonObject, 'id') };
  }

  /** The third-party application, which the person of `session` has allowed what it asks for. */
  async consented(): Promise<{ readonly browser: JsonObject; readonly clientId: string }> {
    const { browser } = await this.session();
    const clientId = this.partner;
    const parameters = { ...this.authorization(newPkce().challenge), client_id: clientId, scope: 'openid' };
    const { next } = await this.#calls.get('AuthorizeService.Begin', { browser, request: { parameters } });
    if ((next as JsonObject)['redirect'] === undefined)
      await this.#calls.get('AuthorizeService.Continue', {
        browser,
        interactionId: textAt(next, 'step', 'interaction', 'interactionId'),
        step: 'consent',
        fields: { consent: 'allow' },
      });
    return { browser, clientId };
  }

  /** What a passkey has signed that a new person has enrolled. */
  async signedByPasskey() {
    const { key, asked, enrolment } = await this.newPasskey();
    await this.#calls.get('DirectoryService.EnrolPasskey', enrolment);
    const ceremony = asked();
    return { tenantId: this.id, ceremony, response: key.get(ceremony) };
  }

  /** Of its key that signs. */
  async kid(): Promise<string> {
    const { keys } = await this.#calls.get('KeysService.GetPublicKeys', { tenantId: this.id });
    const active = (keys as JsonObject[]).find(({ state }) => state === 'KEY_STATE_ACTIVE');
    return textAt(active, 'kid');
  }

  /** A new person who signs in with the provider, too, and what that takes. */
  async linked() {
    const username = this.newName();
    const person = await this.record('User', { username, password });
    const linked = { tenantId: this.id, userId: textAt(person, 'userId'), provider: this.provider };
    const identity = { issuer: this.providerIssuer, subject: this.newName() };
    await this.#calls.get('PersonService.LinkOwnProvider', { ...linked, ...identity });
    return { username, linked };
  }

  /** The browser in which they have just signed in. */
  async sureOfProvider(): Promise<{ readonly browser: JsonObject; readonly provider: string }> {
    const { username: identifier } = await this.linked();
    const { browser, interactionId } = await this.visit();
    const form = { browser, interactionId, step: 'password', fields: { identifier, password } };
    const { session } = await this.#calls.get('AuthorizeService.Continue', form);
    return {
      browser: { ...browser, sessionToken: textAt(session, 'sessionToken') },
      provider: this.provider,
    };
  }

  /** A name that no other record has, and says whose it is. */
  newName(): string {
    return `${this.id}-${randomBytes(5).toString('hex')}`;
  }
}

export interface Session {
  readonly browser: JsonObject;
  readonly sessionId: string;
  readonly userId: string;
}

function pick(from: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, from[name] ?? null]));
}

/** So that tests share no limit per address. */
function newAddress(): string {
  return `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
}
