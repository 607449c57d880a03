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
import type { Target } from '../target.ts';
import { withWarmUp, type HttpAnswer, type HttpLoad, type HttpRequest } from './operation.ts';
import { bringsCode, clientForm, cycle, form, get, member } from './requests.ts';
import { clientFor, send, times } from './send.ts';

/** Browsers with a session, each of a different person and tenant. */
const browsers = 20;
/** Sign-ins per second for which forms are opened beforehand. */
const signInsPerSecond = 30;
/** Exchanges per second for which codes are prepared. */
const exchangesPerSecond = 800;

const { verifier, challenge } = newPkce();

const authorization = ({ clientId }: Client, scope = personScope): string =>
  authorizationQuery({
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    code_challenge: challenge,
  });

const personOf = (target: Target, tenant: number, person: number): Person =>
  new Person(clientFor(target), {
    tenant: tenantId(tenant),
    username: username(tenant, person),
    password: passwordOf(target.seed),
  });

/** A sign-in form, ready to be submitted by its browser. */
async function openSignIn(target: Target, client: Client, index: number): Promise<HttpRequest> {
  const person = personOf(target, client.tenant, index);
  const begun = await person.get(`/authorize?${authorization(client)}`);
  const page = await person.get(begun.header('location') ?? '');
  const shown = formsOf(page).find(({ fields }) => fields.has('password'));
  if (shown === undefined) throw new Error(`no form on the page, status ${page.status}`);
  const { username: identifier, password } = person.login;
  const fields = { ...Object.fromEntries(shown.fields), identifier, password };
  return form(shown.action, fields, { cookie: person.cookie, accept: 'text/html' });
}

/** Submits of sign-in forms. */
export async function signIns(target: Target, duration: number): Promise<HttpLoad> {
  const { tenants, people, active } = target.population;
  const limit = duration * signInsPerSecond;
  const forms = await times(withWarmUp(limit), (index) =>
    openSignIn(target, clientOf(target.seed, index % tenants, index % active), index % people),
  );
  return { ...cycle(forms, bringsCode), limit };
}

/** Sign-ins that cost a bare handler one password hash. */
export const bareSignIns = async (_target: Target, duration: number): Promise<HttpLoad> => ({
  ...cycle([form('/login', { password: 'a password' })], bringsCode),
  limit: duration * signInsPerSecond,
});

interface Visit {
  readonly client: Client;
  readonly request: HttpRequest;
}

/** `GET /authorize` for all active applications that people with a session may use. */
async function visits(target: Target, scope?: string): Promise<Visit[]> {
  const { population, seed } = target;
  const made: Visit[] = [];
  for (let index = 0; index < browsers; index += 1) {
    const tenant = index % population.tenants;
    const person = personOf(target, tenant, 0);
    if (target.kind === 'peer') await person.get(`/session/${person.login.username}`);
    else await person.authorize(authorization(clientOf(seed, tenant, 0)), person.login);
    for (let application = 0; application < population.active; application += 1) {
      const client = clientOf(seed, tenant, application);
      const path = `/authorize?${authorization(client, scope)}`;
      made.push({ client, request: get(path, { accept: 'text/html', cookie: person.cookie }) });
    }
  }
  return made;
}

export async function authorizations(target: Target): Promise<HttpLoad> {
  return cycle(
    (await visits(target)).map(({ request }) => request),
    bringsCode,
  );
}

interface Exchange {
  readonly client: Client;
  /** The token request that redeems a code. */
  readonly request: HttpRequest;
}

/** Requests that redeem `count` new codes. */
async function newCodes(target: Target, count: number, scope?: string): Promise<Exchange[]> {
  const open = await visits(target, scope);
  return times(count, async (index) => {
    const { client, request } = open[index % open.length] as Visit;
    const { headers, status } = await send(target, request);
    const code = new URL(String(headers['location']), 'http://here').searchParams.get('code');
    if (code === null) throw new Error(`no code in an answer with status ${status}`);
    const grant = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    return { client, request: clientForm('/token', client, grant) };
  });
}

export async function codeExchanges(target: Target, duration: number): Promise<HttpLoad> {
  const limit = duration * exchangesPerSecond;
  const exchanges = await newCodes(target, withWarmUp(limit));
  const hasAllTokens = ({ status, text }: HttpAnswer): boolean =>
    status === 200 && text.includes('"id_token":"ey') && text.includes('"refresh_token":"');
  return {
    ...cycle(
      exchanges.map(({ request }) => request),
      hasAllTokens,
    ),
    limit,
  };
}

export interface PersonalTokens {
  readonly client: Client;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Tokens that people granted to applications. */
export async function issuePersonalTokens(
  target: Target,
  count: number,
  scope?: string,
): Promise<PersonalTokens[]> {
  const exchanges = await newCodes(target, count, scope);
  return times(count, async (index) => {
    const { client, request } = exchanges[index] as Exchange;
    const answer = await send(target, request);
    const [accessToken, refreshToken] = [member(answer, 'access_token'), member(answer, 'refresh_token')];
    return { client, accessToken, refreshToken };
  });
}
