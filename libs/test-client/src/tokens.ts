import type { Answer, Ask, HttpClient } from './http.ts';

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

/** The standard name of a parameter is the snake_case of the contract's name. */
const standardName = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The body of a token request in either dialect, from the contract's names. */
export function tokenRequest(
  dialect: Dialect,
  request: Readonly<Record<string, string | undefined>>,
): Pick<Ask, 'json' | 'form'> {
  const entries = Object.entries(request).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  if (dialect === 'contract') return { json: Object.fromEntries(entries) };
  return { form: Object.fromEntries(entries.map(([name, value]) => [standardName(name), value])) };
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
  const body = successful(answer).json();
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

/** The answer, if it has the status 200; throws otherwise. */
export function successful(answer: Answer): Answer {
  if (answer.status !== 200) throw new Error(describeFailure(answer));
  return answer;
}

const approvalGrants = {
  device: { contract: 'device_code', standard: 'urn:ietf:params:oauth:grant-type:device_code' },
  ciba: { contract: 'ciba', standard: 'urn:openid:params:grant-type:ciba' },
} as const;

/** The flows in which a person approves elsewhere. */
export type ApprovalFlow = keyof typeof approvalGrants;

/** What a client polls with, in the contract's names. */
export const pollRequest = (flow: ApprovalFlow, dialect: Dialect, value: string): Record<string, string> => ({
  grantType: approvalGrants[flow][dialect],
  [flow === 'device' ? 'deviceCode' : 'authReqId']: value,
});

/** The contract's introspection result. */
export async function introspect(
  http: HttpClient,
  token: string | undefined,
): Promise<Record<string, unknown>> {
  const body = successful(await http.ask('POST', '/introspect', { json: { token } })).json();
  if (body['isSuccess'] !== true) throw new Error('the introspection did not succeed');
  return body['data'] as Record<string, unknown>;
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
