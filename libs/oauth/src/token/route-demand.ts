import { bearerChallenge, triesBearer } from './bearer.ts';
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
}

/** An active access token, as introspection describes it. */
export interface IntrospectedToken {
  readonly iss: string;
  readonly sub: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly aud: string;
  /** Separated by spaces. */
  readonly scope: string;
  readonly role: readonly string[];
}

const parameters = ['audience', 'scope', 'tenant', 'issuer'];

/** Throws `invalid_request` (400, which no proxy takes for a yes) if the route does not say what it demands. */
export function routeDemand(given: ReadonlyMap<string, string>): RouteDemand {
  const audience = given.get('audience') ?? '';
  if (audience === '') throw new OAuthError('invalid_request', 'The parameter audience is missing.');
  if ([...given.keys()].some((name) => !parameters.includes(name))) {
    throw new OAuthError(
      'invalid_request',
      'Only the parameters audience, scope, tenant and issuer are known.',
    );
  }
  return {
    audience,
    scopes: demandedScopes(given),
    tenantId: given.get('tenant'),
    issuer: given.get('issuer'),
  };
}

function demandedScopes(given: ReadonlyMap<string, string>): string[] {
  return (given.get('scope') ?? '').split(' ').filter((name) => name !== '');
}

/**
 * Returns the token if it meets the demand; else throws `invalid_token` or `insufficient_scope`.
 * @param token undefined: not an active access token
 */
export function requireDemanded(
  token: IntrospectedToken | undefined,
  { audience, scopes, tenantId, issuer }: RouteDemand,
): IntrospectedToken {
  if (token === undefined) throw new OAuthError('invalid_token', 'The access token is not valid.');
  const isDemanded =
    token.aud === audience &&
    (tenantId ?? token.tenantId) === token.tenantId &&
    (issuer ?? token.iss) === token.iss;
  if (!isDemanded) {
    throw new OAuthError('invalid_token', 'The access token is for another API.');
  }
  const granted = new Set(token.scope.split(' '));
  if (!scopes.every((name) => granted.has(name))) {
    throw new OAuthError('insufficient_scope', 'The access token lacks a scope.');
  }
  return token;
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

/** The value of `WWW-Authenticate` for a request that does not meet the demand; undefined for errors that have none. */
export function forwardAuthChallenge(
  error: OAuthError,
  given: ReadonlyMap<string, string>,
  authorization: string | undefined,
): string | undefined {
  const lacks = error.code === 'insufficient_scope' ? demandedScopes(given).join(' ') : '';
  return bearerChallenge(error, lacks, triesBearer(authorization));
}
