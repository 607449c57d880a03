import { authorizationQuery, formsOf, newPkce, Person } from '@tessera/test-client';
import {
  clientOf,
  passwordOf,
  personScope,
  redirectUri,
  tenantId,
  username,
  type Client,
} from '../declared-state.ts';
import { clientFor, eachOf, send, times } from '../driver/send.ts';
import type { Target } from '../target.ts';
import type { HttpRequest } from './operation.ts';
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

const { verifier, challenge } = newPkce();

const authorizationPath = ({ clientId }: Client): string =>
  `/authorize?${authorizationQuery({
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: personScope,
    code_challenge: challenge,
  })}`;

/** `GET /authorize` of one of the tenant's applications. */
export const authorizationRequest = (client: Client, cookie: string): HttpRequest =>
  get(authorizationPath(client), { accept: 'text/html', cookie });

const personOf = ({ baseUrl, seed }: Target, tenant: number, person: number): Person =>
  new Person(clientFor(baseUrl), {
    tenant: tenantId(tenant),
    username: username(tenant, person),
    password: passwordOf(seed),
  });

/** A sign-in form, ready to be submitted by its browser. */
export async function openSignIn(target: Target, client: Client, index: number): Promise<HttpRequest> {
  const person = personOf(target, client.tenant, index);
  const begun = await person.get(authorizationPath(client));
  const page = await person.get(begun.header('location') ?? '');
  const shown = formsOf(page).find(({ fields }) => fields.has('password'));
  if (shown === undefined) throw new Error(`no form on the page, status ${page.status}`);
  const { username: identifier, password } = person.login;
  const fields = { ...Object.fromEntries(shown.fields), identifier, password };
  return form(shown.action, fields, { cookie: person.cookie, accept: 'text/html' });
}

async function signIn(target: Target, tenant: number): Promise<SignedIn> {
  const person = personOf(target, tenant, 0);
  const path = authorizationPath(clientOf(target.seed, tenant, 0));
  redirectParameter(await person.authorize(path.slice(path.indexOf('?') + 1), person.login), 'code');
  return { tenant, cookie: person.cookie };
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
