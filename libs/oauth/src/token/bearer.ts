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
 * @param needed what a token must have instead, by parameter: `scope`, or `acr_values` and `max_age` (RFC 9470 §3)
 * @param tried whether a token was sent; a request without one gets no error code
 */
export function bearerChallenge(
  error: OAuthError,
  needed: Readonly<Record<string, string>>,
  tried: boolean,
): string | undefined {
  if (error.status !== 401 && error.status !== 403) return undefined;
  const detail = tried ? `, error="${error.code}", error_description="${quotable(error.message)}"` : '';
  const parameters = Object.entries(needed).map(([name, value]) => `, ${name}="${quotable(value)}"`);
  return `Bearer realm="tessera"${detail}${parameters.join('')}`;
}

/** The characters RFC 6750 §3 allows in `error_description` and `scope`. */
function quotable(text: string): string {
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '');
}
