import { errorTable } from '../errors.ts';
import type { OAuthError } from '../errors.ts';

/**
 * Adds query parameters to a URI and leaves the rest unchanged, including a fragment after the query.
 * Values are encoded as application/x-www-form-urlencoded (RFC 6749 §3.1.2 and appendix B); undefined ones are omitted.
 */
export function withQuery(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.append(name, value);
  }
  if (query.size === 0) return uri;
  const hash = uri.indexOf('#');
  const base = hash === -1 ? uri : uri.slice(0, hash);
  const fragment = hash === -1 ? '' : uri.slice(hash);
  return base + separatorFor(base) + query.toString() + fragment;
}

function separatorFor(base: string): string {
  if (!base.includes('?')) return '?';
  return base.endsWith('?') || base.endsWith('&') ? '' : '&';
}

/** Puts parameters into the fragment of a URI, in place of the one that it has. */
function withFragment(uri: string, parameters: Readonly<Record<string, string>>): string {
  const [base = ''] = uri.split('#');
  return `${base}#${new URLSearchParams(parameters).toString()}`;
}

/**
 * How an authorization response reaches the client: in the query or the fragment of a redirect (OAuth 2.0 Multiple
 * Response Types §2.1), or in a form that the browser posts.
 */
export const responseModes = ['query', 'fragment', 'form_post'] as const;
export type ResponseMode = (typeof responseModes)[number];

/** The response of the authorization endpoint to the client. */
export interface AuthorizationResponse {
  readonly responseMode: ResponseMode;
  /** The code, or the error. */
  readonly outcome: { readonly code: string } | { readonly error: OAuthError };
  /** `state` of the request, returned unchanged; undefined or empty if there was none. */
  readonly state: string | undefined;
  /** Issuer, for `iss` (RFC 9207 §2). */
  readonly issuer: string;
  /** Whose response it is. */
  readonly clientId: string;
}

/** Where an authorization response takes the browser. */
export interface ClientRedirect {
  /** The redirect URI with the response. */
  readonly location: string;
  /** In place of the redirect, a form that the browser posts (OAuth 2.0 Form Post Response Mode §2). */
  readonly formPost: FormPost | undefined;
}

export interface FormPost {
  readonly uri: string;
  /** The client to which it is posted. */
  readonly clientId: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * An authorization response: `code` or `error` and `error_description`, `state`, `iss` (RFC 6749 §4.1.2 and §4.1.2.1,
 * RFC 9207). The redirect URI must have been matched with the registered ones before.
 * An error that must not be sent by redirect becomes `server_error`, without its message.
 */
export function authorizationResponse(redirectUri: string, response: AuthorizationResponse): ClientRedirect {
  const { outcome, responseMode, clientId } = response;
  const parameters: Readonly<Record<string, string>> = {
    ...('code' in outcome ? { code: outcome.code } : errorParameters(outcome.error)),
    ...(response.state === undefined || response.state === '' ? {} : { state: response.state }),
    iss: response.issuer,
  };
  return {
    location: (responseMode === 'fragment' ? withFragment : withQuery)(redirectUri, parameters),
    formPost: responseMode === 'form_post' ? { uri: redirectUri, clientId, parameters } : undefined,
  };
}

function errorParameters(error: OAuthError): Record<string, string> {
  if (!errorTable[error.code].redirect) return { error: 'server_error' };
  return { error: error.code, error_description: errorDescription(error.message) };
}

/** Replaces the characters that `error_description` must not have (RFC 6749 §5.2). */
export function errorDescription(message: string): string {
  return message
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/[^\x20-\x7e]/g, '?');
}

/**
 * The redirect URL after a logout: the registered URI with `state`, if one was sent (OIDC RP-Initiated Logout §3), and
 * in the contract profile with `logged_out=1`.
 */
export function logoutLocation(
  uri: string,
  { state, loggedOut }: { readonly state: string; readonly loggedOut: boolean },
): string {
  return withQuery(uri, {
    logged_out: loggedOut ? '1' : undefined,
    state: state === '' ? undefined : state,
  });
}
