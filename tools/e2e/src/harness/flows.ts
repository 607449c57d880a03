import { expect } from 'vitest';
import {
  type Answer,
  authorizationQuery,
  claimsOf,
  describeFailure,
  type Dialect,
  type HttpClient,
  newPkce,
  type Person,
  postToken,
  tokensOf,
} from '@tessera/test-client';
import { people, redirectUri, secrets } from './declared-state.ts';

export const secretOf: Readonly<Record<string, string | undefined>> = {
  'acme-web': secrets.web,
  'acme-service': secrets.service,
  'acme-other': secrets.other,
  'acme-reports': secrets.reports,
  'globex-web': secrets.globex,
  'acme-box': secrets.box,
  'acme-desk': secrets.desk,
  'acme-till': secrets.till,
  'acme-mute': secrets.mute,
  'acme-alarm': secrets.alarm,
  'acme-pinged': secrets.pinged,
  'acme-ledger': secrets.ledger,
  'acme-parcels': secrets.parcels,
};

/** The query of a valid authorization request; members set to undefined are omitted. */
export const authorizeQuery = (overrides: Readonly<Record<string, string | undefined>> = {}): string =>
  authorizationQuery({
    client_id: 'acme-web',
    redirect_uri: redirectUri,
    scope: 'openid profile email offline_access orders.read',
    ...overrides,
  });

export function expectError(answer: Answer, status: number, error: string): void {
  expect(describeFailure(answer)).toContain(`status ${status}, ${error}`);
}

export interface Code {
  readonly code: string;
  readonly verifier: string;
  readonly clientId: string;
}

/** Gets a code for `clientId`; signs the person in if there is no session yet. */
export async function codeFor(
  person: Person,
  clientId = 'acme-web',
  overrides: Record<string, string | undefined> = {},
  credentials: { username: string; password: string } = people.ada,
): Promise<Code> {
  const { verifier, challenge } = newPkce();
  const query = authorizeQuery({ client_id: clientId, code_challenge: challenge, ...overrides });
  const answer = await person.authorize(query, credentials);
  const location = answer.header('location') ?? '';
  expect(location.startsWith(redirectUri), `status ${answer.status}`).toBe(true);
  const code = new URL(location).searchParams.get('code');
  expect(code === null, new URL(location).searchParams.get('error') ?? 'no code').toBe(false);
  return { code: code ?? '', verifier, clientId };
}

export async function redeem(
  http: HttpClient,
  code: Code,
  dialect: Dialect = 'contract',
  overrides: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  return postToken(http, dialect, {
    grantType: 'authorization_code',
    clientId: code.clientId,
    clientSecret: secretOf[code.clientId],
    code: code.code,
    codeVerifier: code.verifier,
    redirectUri,
    ...overrides,
  });
}

export async function refresh(
  http: HttpClient,
  refreshToken: string | undefined,
  clientId = 'acme-web',
  dialect: Dialect = 'contract',
  overrides: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  return postToken(http, dialect, {
    grantType: 'refresh_token',
    clientId,
    clientSecret: secretOf[clientId],
    refreshToken,
    ...overrides,
  });
}

export async function clientCredentials(
  http: HttpClient,
  clientId = 'acme-service',
  dialect: Dialect = 'contract',
  overrides: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  return postToken(http, dialect, {
    grantType: 'client_credentials',
    clientId,
    clientSecret: secretOf[clientId],
    scope: 'orders.read',
    ...overrides,
  });
}

/** The `aud` of the access token in an answer, or the code of its error. */
export function audienceOf(answer: Answer): string {
  const failure = answer.status === 200 ? undefined : answer.json()['error'];
  return String(failure ?? claimsOf(tokensOf(answer).accessToken)['aud']);
}
