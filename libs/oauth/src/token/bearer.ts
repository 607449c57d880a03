import { OAuthError } from '../errors.ts';

/**
 * The access token of an Authorization header (RFC 6750 §2.1). Throws `invalid_token` without one.
 */
export function bearerToken(authorization: string | undefined): string {
  const token = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw new OAuthError('invalid_token', 'A bearer access token is required.');
  return token;
}

/** Whether an Authorization header tries a bearer token, well-formed or not. */
export function triesBearer(authorization: string | undefined): boolean {
  return /^bearer\b/i.test(authorization ?? '');
}

/**
 * The value of `WWW-Authenticate` for a refused bearer token (RFC 6750 §3); undefined for errors that have none.
 * @param scope the scope that the token lacks; empty if it lacks none
 * @param tried whether a token was sent; a request without one gets no error code
 */
export function bearerChallenge(error: OAuthError, scope: string, tried: boolean): string | undefined {
  if (error.status !== 401 && error.status !== 403) return undefined;
  const detail = tried ? `, error="${error.code}", error_description="${quotable(error.message)}"` : '';
  const needed = scope === '' ? '' : `, scope="${quotable(scope)}"`;
  return `Bearer realm="tessera"${detail}${needed}`;
}

/** The characters RFC 6750 §3 allows in `error_description` and `scope`. */
function quotable(text: string): string {
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '');
}
