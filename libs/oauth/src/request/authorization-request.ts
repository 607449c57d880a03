import { OAuthError } from '../errors.ts';
import { isCodeChallenge } from './pkce.ts';
import { responseModes, type ResponseMode } from './redirect-response.ts';

/** Request parameters by name, each at most once. */
export type RequestParameters = ReadonlyMap<string, string> | Readonly<Record<string, string>>;

/** A well-formed authorization request. Client, redirect URI and scopes are not checked yet. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly responseMode: ResponseMode;
  /** Not parsed yet: errors of `parseScope` are sent by redirect. */
  readonly scope: string;
  /** Returned unchanged. */
  readonly state: string | undefined;
  /** S256, 43 characters of base64url; empty if absent. */
  readonly codeChallenge: string;
  readonly nonce: string | undefined;
  readonly loginHint: string | undefined;
  /** Tags in order of preference, separated by spaces (OIDC Core §3.1.2.1); empty if absent. */
  readonly uiLocales: string;
  /** RFC 8707 §2; empty if absent. */
  readonly resource: string;
}

/** A parameter's value; one sent without a value counts as omitted (RFC 6749 §3.1). */
export function parameter(parameters: RequestParameters, name: string): string | undefined {
  const value = isMap(parameters)
    ? parameters.get(name)
    : Object.hasOwn(parameters, name)
      ? parameters[name]
      : undefined;
  return value === '' ? undefined : value;
}

function isMap(parameters: RequestParameters): parameters is ReadonlyMap<string, string> {
  return parameters instanceof Map;
}

/**
 * Checks the form of an authorization request in the contract's order and with its messages (RFC 6749 §4.1.1,
 * RFC 7636 §4.3). Every error is a 400 response, never a redirect, as the redirect URI is not validated yet.
 * Whether the client may leave out the code challenge is not checked here. Throws `invalid_request` and
 * `unsupported_response_type`.
 */
export function checkAuthorizationParameters(parameters: RequestParameters): AuthorizationRequest {
  const read = (name: string) => parameter(parameters, name);
  const clientId = read('client_id');
  const redirectUri = read('redirect_uri');
  const responseType = read('response_type');
  const scope = read('scope');
  if (
    clientId === undefined ||
    redirectUri === undefined ||
    responseType === undefined ||
    scope === undefined
  ) {
    throw new OAuthError('invalid_request', 'Missing required OAuth parameters.');
  }
  checkLengths(parameters, beforeRedirects);
  if (responseType !== 'code') {
    throw new OAuthError('unsupported_response_type', 'Only response_type=code is supported.');
  }
  const codeChallenge = checkChallenge(read('code_challenge'), read('code_challenge_method'));
  return {
    clientId,
    redirectUri,
    responseMode: parseResponseMode(read('response_mode')),
    scope,
    codeChallenge,
    state: read('state'),
    nonce: read('nonce'),
    loginHint: read('login_hint'),
    uiLocales: read('ui_locales') ?? '',
    resource: read('resource') ?? '',
  };
}

/** Maximum characters of the values without which no error can be sent by redirect. */
const beforeRedirects: Readonly<Record<string, number>> = {
  client_id: 128,
  redirect_uri: 2048,
  code_challenge: 128,
};

/**
 * Those of the others that are stored while a user signs in. `state` and `nonce` are the client's own, and hold deep
 * links.
 */
const longestParameters: Readonly<Record<string, number>> = {
  scope: 4096,
  state: 8192,
  nonce: 8192,
  login_hint: 512,
  resource: 2048,
  prompt: 64,
  claims: 2048,
  max_age: 16,
  acr_values: 256,
  ui_locales: 256,
};

/** The parameters that are read, and stored while a user signs in. */
export const authorizationParameters: readonly string[] = [
  ...Object.keys(beforeRedirects),
  ...Object.keys(longestParameters),
  // Their values are a few words.
  'response_type',
  'response_mode',
  'code_challenge_method',
];

/** Throws `invalid_request` for a value that is too long to be stored. The error may be sent by redirect. */
export function checkParameterLengths(parameters: RequestParameters): void {
  checkLengths(parameters, longestParameters);
}

function checkLengths(parameters: RequestParameters, limits: Readonly<Record<string, number>>): void {
  for (const [name, longest] of Object.entries(limits)) {
    if ((parameter(parameters, name)?.length ?? 0) > longest) {
      throw new OAuthError('invalid_request', `The parameter ${name} has more than ${longest} characters.`);
    }
  }
}

/** The error for a request without a code challenge (RFC 7636 §4.4.1), in the contract's words. */
export function missingPkce(): OAuthError {
  return new OAuthError('invalid_request', 'Missing PKCE parameters.');
}

/**
 * Only S256 (RFC 9700 §2.1.1): `plain`, other spellings and malformed challenges are refused. Empty if both are absent.
 */
function checkChallenge(challenge: string | undefined, method: string | undefined): string {
  if (challenge === undefined && method === undefined) return '';
  if (challenge === undefined || method === undefined) throw missingPkce();
  if (method !== 'S256') {
    throw new OAuthError('invalid_request', 'Only code_challenge_method=S256 is supported.');
  }
  if (!isCodeChallenge(challenge)) {
    throw new OAuthError('invalid_request', 'The code_challenge must be 43 characters of base64url.');
  }
  return challenge;
}

function parseResponseMode(mode = 'query'): ResponseMode {
  const known = responseModes.find((each) => each === mode);
  if (known !== undefined) return known;
  throw new OAuthError(
    'invalid_request',
    'Only the response modes query, fragment and form_post are supported.',
  );
}

/**
 * Refuses request objects (OIDC Core §6) and self-registration (§7.2.1), which are not supported, with their own
 * error codes (OIDC Core §3.1.2.6). These errors may be sent by redirect.
 */
export function checkUnsupportedParameters(parameters: RequestParameters): void {
  for (const [name, code] of unsupportedParameters) {
    if (parameter(parameters, name) !== undefined) {
      throw new OAuthError(code, `The ${name} parameter is not supported.`);
    }
  }
}

const unsupportedParameters = [
  ['request', 'request_not_supported'],
  ['request_uri', 'request_uri_not_supported'],
  ['registration', 'registration_not_supported'],
] as const;

/** The values of `prompt` that are served (OIDC Core §3.1.2.1). */
export const supportedPrompts = ['none', 'login', 'consent', 'select_account'] as const;

export type PromptValue = (typeof supportedPrompts)[number];

function isPromptValue(value: string): value is PromptValue {
  return supportedPrompts.some((supported) => supported === value);
}

/**
 * Reads `prompt` (OIDC Core §3.1.2.1): a list of the defined values separated by spaces; empty when absent.
 * Throws `invalid_request` for other values, and for `none` with another.
 */
export function promptValues(prompt: string | undefined): ReadonlySet<PromptValue> {
  if (prompt === undefined || prompt === '') return new Set();
  const values = prompt.split(' ');
  if (!values.every(isPromptValue)) {
    throw new OAuthError('invalid_request', 'Unsupported prompt value.');
  }
  if (values.includes('none') && values.length > 1) {
    throw new OAuthError('invalid_request', 'The prompt value none must stand alone.');
  }
  return new Set(values);
}

/**
 * Reads `max_age` (OIDC Core §3.1.2.1): seconds since the user last signed in; undefined if absent.
 * Throws `invalid_request` for anything but a whole number of seconds.
 */
export function parseMaxAge(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,10}$/.test(text)) {
    throw new OAuthError('invalid_request', 'The max_age parameter must be a whole number of seconds.');
  }
  return Number(text);
}
