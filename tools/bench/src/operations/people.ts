import { createHash, randomBytes } from 'node:crypto';
import { clientOf, passwordOf, personScope, redirectUri, username, type Client } from '../declared-state.ts';
import { eachOf, send, times } from '../driver/http-client.ts';
import type { Target } from '../target.ts';
import type { HttpAnswer, HttpRequest } from './operation.ts';
import { form, get, member, redirectParameter } from './requests.ts';

/** Browsers with a session, each of a different person and tenant. */
const browserCount = 20;

export interface SignedIn {
  readonly tenant: number;
  readonly cookie: string;
}

export interface Code {
  readonly client: Client;
  readonly code: string;
  readonly verifier: string;
}

const verifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');

/** `GET /authorize` of one of the tenant's applications. */
export function authorizationRequest(client: Client, cookie: string | undefined): HttpRequest {
  const query = new URLSearchParams({
    client_id: client.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: personScope,
    state: 'a-state-of-the-client',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return get(`/authorize?${query.toString()}`, {
    accept: 'text/html',
    ...(cookie === undefined ? {} : { cookie }),
  });
}

/** A sign-in form, ready to be submitted by its browser. */
export async function openSignIn(target: Target, client: Client, person: number): Promise<HttpRequest> {
  const begun = await send(target.baseUrl, authorizationRequest(client, undefined));
  const interaction = redirectParameter(begun, 'interaction');
  const cookie = cookiesOf(begun);
  const page = await send(
    target.baseUrl,
    get(`/login?interaction=${interaction}`, { cookie, accept: 'text/html' }),
  );
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1];
  if (csrf === undefined) throw new Error(`no form on the page, status ${page.status}`);
  const fields = {
    csrf,
    interaction,
    identifier: username(client.tenant, person),
    password: passwordOf(target.seed),
  };
  return form('/login', fields, { cookie, accept: 'text/html' });
}

async function signIn(target: Target, tenant: number): Promise<SignedIn> {
  const request = await openSignIn(target, clientOf(target.seed, tenant, 0), 0);
  const answer = await send(target.baseUrl, request);
  redirectParameter(answer, 'code');
  return { tenant, cookie: `${request.headers['cookie'] ?? ''}; ${cookiesOf(answer)}` };
}

export function signInSome(target: Target): Promise<SignedIn[]> {
  const { tenants } = target.population;
  return eachOf(times(browserCount), (index) => signIn(target, index % tenants), 2);
}

/** Requests of all active applications that people with a session may use, in turn. */
export function sessionRequests(
  target: Target,
  browsers: readonly SignedIn[],
): { client: Client; request: HttpRequest }[] {
  return times(target.population.active).flatMap((index) =>
    browsers.map(({ tenant, cookie }) => {
      const client = clientOf(target.seed, tenant, index);
      return { client, request: authorizationRequest(client, cookie) };
    }),
  );
}

/** New codes, each valid for ten minutes. */
export async function issueCodes(target: Target, count: number): Promise<Code[]> {
  const requests = sessionRequests(target, await signInSome(target));
  return eachOf(times(count), async (index) => {
    const chosen = requests[index % requests.length];
    if (chosen === undefined) throw new Error('nobody is signed in');
    const answer = await send(target.baseUrl, chosen.request);
    return { client: chosen.client, code: redirectParameter(answer, 'code'), verifier };
  });
}

/** The token request that redeems a code. */
export function codeExchange({ client, code, verifier: codeVerifier }: Code): HttpRequest {
  return form(
    '/token',
    { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier },
    basicOf(client),
  );
}

/** `Authorization: Basic` (RFC 6749 §2.3.1) for credentials that need no encoding. */
export function basicOf({ clientId, clientSecret }: Client): Readonly<Record<string, string>> {
  return { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` };
}

export interface PersonalTokens {
  readonly client: Client;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Tokens that people granted to applications. */
export async function issuePersonalTokens(target: Target, count: number): Promise<PersonalTokens[]> {
  return eachOf(await issueCodes(target, count), async (code) => {
    const answer = await send(target.baseUrl, codeExchange(code));
    return {
      client: code.client,
      accessToken: member(answer, 'access_token'),
      refreshToken: member(answer, 'refresh_token'),
    };
  });
}

/** The cookies of a response, as a browser sends them back. */
function cookiesOf(answer: HttpAnswer): string {
  const lines = answer.headers['set-cookie'];
  const all: unknown[] = Array.isArray(lines) ? lines : [lines];
  return all
    .filter((line) => typeof line === 'string')
    .map((line) => line.split(';', 1)[0] ?? '')
    .join('; ');
}
