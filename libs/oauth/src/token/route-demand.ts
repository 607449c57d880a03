import { bearerChallenge, triesBearer } from './bearer.ts';
import { acrValues, meetsAcr } from './authentication-class.ts';
import { OAuthError } from '../errors.ts';

/** What the route of a proxy demands of an access token. */
export interface RouteDemand {
  readonly audience: string;
  /** Every one is needed. */
  readonly scopes: readonly string[];
  /** Undefined: any tenant that shares the audience. */
  readonly tenantId: string | undefined;
  /** Undefined: any issuer that the proxy asks at. */
  readonly issuer: string | undefined;
  /** Classes of sign-ins, one of which is needed; empty: any, and tokens without a person. */
  readonly acrValues: readonly string[];
  /** Seconds since the sign-in; undefined: any time. */
  readonly maxAge: number | undefined;
}

/** An active access token, as introspection describes it. */
export interface IntrospectedToken {
  readonly iss: string;
  readonly sub: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly aud: string;
  /** Of a token with several audiences all of them; else none. */
  readonly audiences: readonly string[];
  /** Separated by spaces. */
  readonly scope: string;
  readonly role: readonly string[];
  /** Empty if no person signed in. */
  readonly acr: string;
  /** Seconds since the Unix epoch; 0 if no person signed in. */
  readonly authTime: bigint;
}

const parameters = ['audience', 'scope', 'tenant', 'issuer', 'acr_values', 'max_age'];

/** Throws `invalid_request` (400, which no proxy takes for a yes) if the route does not say what it demands. */
export function routeDemand(given: ReadonlyMap<string, string>): RouteDemand {
  const audience = given.get('audience') ?? '';
  if (audience === '') throw new OAuthError('invalid_request', 'The parameter audience is missing.');
  if ([...given.keys()].some((name) => !parameters.includes(name))) {
    throw new OAuthError(
      'invalid_request',
      'Only the parameters audience, scope, tenant, issuer, acr_values and max_age are known.',
    );
  }
  return {
    audience,
    scopes: names(given.get('scope')),
    tenantId: given.get('tenant'),
    issuer: given.get('issuer'),
    acrValues: demandedClasses(given.get('acr_values')),
    maxAge: demandedAge(given.get('max_age')),
  };
}

function names(list = ''): string[] {
  return list.split(' ').filter((name) => name !== '');
}

function demandedClasses(list: string | undefined): string[] {
  const asked = names(list);
  if (asked.some((value) => acrValues.includes(value)) || list === undefined) return asked;
  throw new OAuthError(
    'invalid_request',
    `The parameter acr_values must name one of ${acrValues.join(', ')}.`,
  );
}

function demandedAge(seconds: string | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  if (/^\d{1,9}$/.test(seconds)) return Number(seconds);
  throw new OAuthError('invalid_request', 'The parameter max_age must be a number of seconds.');
}

/**
 * Returns the token if it meets the demand; else throws `invalid_token`, `insufficient_scope` or
 * `insufficient_user_authentication` (RFC 9470 §3).
 * @param token undefined: not an active access token
 * @param now seconds since the Unix epoch
 */
export function requireDemanded(
  token: IntrospectedToken | undefined,
  demand: RouteDemand,
  now: number,
): IntrospectedToken {
  const { audience, scopes, tenantId, issuer } = demand;
  if (token === undefined) throw new OAuthError('invalid_token', 'The access token is not valid.');
  const isDemanded =
    [token.aud, ...token.audiences].includes(audience) &&
    (tenantId ?? token.tenantId) === token.tenantId &&
    (issuer ?? token.iss) === token.iss;
  if (!isDemanded) {
    throw new OAuthError('invalid_token', 'The access token is for another API.');
  }
  const granted = new Set(token.scope.split(' '));
  if (!scopes.every((name) => granted.has(name))) {
    throw new OAuthError('insufficient_scope', 'The access token lacks a scope.');
  }
  requireSignIn(token, demand, now);
  return token;
}

function requireSignIn(
  { acr, authTime }: IntrospectedToken,
  { acrValues: asked, maxAge }: RouteDemand,
  now: number,
) {
  if (asked.length > 0 && !meetsAcr(acr, asked)) {
    throw new OAuthError('insufficient_user_authentication', 'The sign-in is not of a class that is needed.');
  }
  if (maxAge !== undefined && (authTime === 0n || now - Number(authTime) > maxAge)) {
    throw new OAuthError('insufficient_user_authentication', 'The sign-in is too long ago.');
  }
}

/** Describes the caller. Values are ASCII; other characters, commas and percent signs of a role are percent-encoded. */
export function identityHeaders({
  sub,
  clientId,
  tenantId,
  scope,
  role,
}: IntrospectedToken): Readonly<Record<string, string>> {
  return {
    'x-auth-subject': sub,
    'x-auth-client-id': clientId,
    'x-auth-tenant-id': tenantId,
    'x-auth-scope': scope,
    'x-auth-roles': role.map(encodeURIComponent).join(','),
  };
}

/** The parameters of a demand that the client must meet next time, by error. */
const neededFor: Partial<Record<OAuthError['code'], readonly string[]>> = {
  insufficient_scope: ['scope'],
  insufficient_user_authentication: ['acr_values', 'max_age'],
};

/** The value of `WWW-Authenticate` for a request that does not meet the demand; undefined for errors that have none. */
export function forwardAuthChallenge(
  error: OAuthError,
  given: ReadonlyMap<string, string>,
  authorization: string | undefined,
): string | undefined {
  const lacks = neededFor[error.code]?.flatMap((name) => {
    const value = given.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return bearerChallenge(error, Object.fromEntries(lacks ?? []), triesBearer(authorization));
}
