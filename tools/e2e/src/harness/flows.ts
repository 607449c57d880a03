import { expect } from 'vitest';
import type { Answer, Ask, HttpClient } from './http.ts';
import { authorizeQuery, newPkce, type Person } from './person.ts';
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
  'acme-pushed': secrets.pushed,
  'acme-ledger': secrets.ledger,
};

export type Dialect = 'contract' | 'standard';
export const dialects: readonly Dialect[] = ['contract', 'standard'];

export interface Tokens {
  readonly accessToken: string;
  readonly tokenType: string;
  readonly expiresIn: number;
  readonly scope: string | undefined;
  readonly refreshToken: string | undefined;
  readonly idToken: string | undefined;
}

const standardNames: Readonly<Record<string, string>> = {
  grantType: 'grant_type',
  clientId: 'client_id',
  clientSecret: 'client_secret',
  codeVerifier: 'code_verifier',
  redirectUri: 'redirect_uri',
  refreshToken: 'refresh_token',
  deviceCode: 'device_code',
  authReqId: 'auth_req_id',
};

/** The body of a token request in either dialect, from the contract's names. */
export function tokenRequest(
  dialect: Dialect,
  request: Readonly<Record<string, string | undefined>>,
): Pick<Ask, 'json' | 'form'> {
  const entries = Object.entries(request).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  if (dialect === 'contract') return { json: Object.fromEntries(entries) };
  return { form: Object.fromEntries(entries.map(([name, value]) => [standardNames[name] ?? name, value])) };
}

/** Posts a token request in either dialect, from the contract's names. */
export async function postToken(
  http: HttpClient,
  dialect: Dialect,
  request: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  return http.ask('POST', '/token', tokenRequest(dialect, request));
}

/** The tokens of a successful response in either dialect. */
export function tokensOf(answer: Answer): Tokens {
  expect(answer.status, describeFailure(answer)).toBe(200);
  const body = answer.json();
  const data = (body['data'] ?? body) as Record<string, string | number | undefined>;
  return {
    accessToken: String(data['accessToken'] ?? data['access_token']),
    tokenType: String(data['tokenType'] ?? data['token_type']),
    expiresIn: Number(data['expiresIn'] ?? data['expires_in']),
    scope: data['scope'] as string | undefined,
    refreshToken: (data['refreshToken'] ?? data['refresh_token']) as string | undefined,
    idToken: (data['idToken'] ?? data['id_token']) as string | undefined,
  };
}

/** Describes a refusal by status and error code, without anything that might contain a token. */
export function describeFailure(answer: Answer): string {
  if (answer.status === 200) return 'an answer with status 200';
  const type = answer.header('content-type') ?? '';
  if (!type.includes('json')) return `status ${answer.status}, ${type}`;
  const body = answer.json();
  return `status ${answer.status}, ${String(body['error'])}: ${String(body['message'] ?? body['error_description'])}`;
}

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

/** The contract's introspection result. */
export async function introspect(
  http: HttpClient,
  token: string | undefined,
): Promise<Record<string, unknown>> {
  const answer = await http.ask('POST', '/introspect', { json: { token } });
  expect(answer.status, describeFailure(answer)).toBe(200);
  expect(answer.json()['isSuccess']).toBe(true);
  return answer.json()['data'] as Record<string, unknown>;
}

export async function revoke(http: HttpClient, token: string | undefined, reason?: string): Promise<Answer> {
  return http.ask('DELETE', '/revoke', {
    json: { token, ...(reason === undefined ? {} : { reasonRevoked: reason }) },
  });
}

/** The claims of a JWT, unverified. */
export function claimsOf(token: string | undefined): Record<string, unknown> {
  const payload = token?.split('.')[1] ?? '';
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
}

export function headerOf(token: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(token?.split('.')[0] ?? '', 'base64url').toString('utf8')) as Record<
    string,
    unknown
  >;
}
