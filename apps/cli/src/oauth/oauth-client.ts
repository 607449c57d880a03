import { assertionParameters } from '@tessera/oauth';
import * as openid from 'openid-client';
import { CommandError, type Terminal } from '../terminal.ts';
import type { OAuthClient } from './acting-client.ts';
import { safeAddress } from './safe-address.ts';

/** An authorization server and the client that asks it. */
export type Configuration = openid.Configuration;

const timeoutSeconds = 15;

/** A request that failed: refused by the server, or without a usable response. */
export class RequestError extends CommandError {
  /** Of the response; undefined if none arrived or it cannot be read. */
  readonly status: number | undefined;
  /** The error code (RFC 6749 §5.2). */
  readonly code: string | undefined;
  /** Seconds the server asks to wait. */
  readonly retryAfter: number | undefined;

  constructor(message: string, response?: Response, code?: string) {
    super(message);
    this.status = response?.status;
    this.code = code;
    const retryAfter = Number(response?.headers.get('retry-after') ?? Number.NaN);
    this.retryAfter = Number.isFinite(retryAfter) ? retryAfter : undefined;
  }
}

/** Those that commands send secrets, tokens and, where a page asks for them, passwords to. */
const endpoints = [
  'authorization_endpoint',
  'token_endpoint',
  'device_authorization_endpoint',
  'backchannel_authentication_endpoint',
  'revocation_endpoint',
] as const;

/** Throws CommandError if an endpoint of the metadata is an address that secrets do not go to. */
export function requireSafeEndpoints(issuer: string, metadata: Readonly<Record<string, unknown>>): void {
  for (const name of endpoints) {
    const address = metadata[name];
    if (address !== undefined)
      safeAddress(`The ${name} of ${issuer}`, typeof address === 'string' ? address : '');
  }
}

/**
 * Fetches the metadata from its well-known URL (RFC 8414 §3.1). Throws CommandError, also for metadata of another
 * issuer (§3.3), and for an issuer or endpoint that secrets do not go to.
 */
export async function discover(
  issuer: string,
  client: OAuthClient,
  { fetch }: Pick<Terminal, 'fetch'>,
): Promise<Configuration> {
  const url = new URL(safeAddress(`The issuer ${issuer}`, issuer));
  const found = openid.discovery(url, identifierOf(client), undefined, authenticationOf(client), {
    algorithm: 'oauth2',
    timeout: timeoutSeconds,
    [openid.customFetch]: fetchWith(fetch),
    ...(url.protocol === 'http:' && { execute: [openid.allowInsecureRequests] }),
  });
  const config = await found.catch(async (failure: unknown) => {
    const failed = await requestError(failure);
    if (failed.status === 200)
      throw new CommandError(`${issuer} has no metadata of its own: ${failed.message}`);
    throw new CommandError(`No metadata of ${issuer}: ${failed.message} Is --issuer right?`);
  });
  if (config.serverMetadata().token_endpoint === undefined)
    throw new CommandError(`The metadata of ${issuer} names no token endpoint.`);
  requireSafeEndpoints(issuer, config.serverMetadata());
  return config;
}

/** A server with known endpoints, without discovery. */
export function endpointsOf(
  server: openid.ServerMetadata & { readonly token_endpoint: string },
  client: OAuthClient,
  { fetch }: Pick<Terminal, 'fetch'>,
): Configuration {
  const config = new openid.Configuration(server, identifierOf(client), undefined, authenticationOf(client));
  config.timeout = timeoutSeconds;
  config[openid.customFetch] = fetchWith(fetch);
  if (server.token_endpoint.startsWith('http:')) openid.allowInsecureRequests(config);
  return config;
}

/** The library wants one; it is not sent with an assertion. */
function identifierOf({ clientId }: OAuthClient): string {
  return clientId === '' ? 'unknown' : clientId;
}

/**
 * A token of the platform (RFC 7521 §4.2), HTTP Basic for a client with a secret (RFC 6749 §2.3.1), otherwise only the
 * identifier.
 */
function authenticationOf({ clientId, clientSecret, assertion }: OAuthClient): openid.ClientAuth {
  if (assertion !== undefined)
    return (_server, _client, body) => {
      for (const [name, value] of Object.entries(assertionParameters(assertion().trim())))
        body.set(name, value);
      if (clientId !== '') body.set('client_id', clientId);
    };
  return clientSecret === undefined ? openid.None() : openid.ClientSecretBasic(clientSecret);
}

function fetchWith(fetch: Terminal['fetch']): openid.CustomFetch {
  return async (url, options) =>
    fetch(url, options as RequestInit).catch(() => {
      throw new RequestError(`${url} does not answer.`);
    });
}

/** What made a request of openid-client fail. Throws the failure if it is a defect of the program. */
export async function requestError(failure: unknown): Promise<RequestError> {
  if (!(failure instanceof Error)) throw failure;
  if (failure.cause instanceof RequestError) return failure.cause;
  // Of a token that could not be read.
  if (failure.cause instanceof CommandError) throw failure.cause;
  if (failure instanceof openid.ResponseBodyError) {
    const { error: code, error_description: description, response } = failure;
    return new RequestError(refusal(code, description), response, code);
  }
  const response = failure instanceof openid.WWWAuthenticateChallengeError ? failure.response : failure.cause;
  if (response instanceof Response) {
    const body: unknown = await response.json().catch(() => undefined);
    if (typeof body !== 'object' || body === null)
      return new RequestError(`${response.url} answered with status ${response.status}.`);
    const { error, error_description: description } = body as Readonly<Record<string, unknown>>;
    const code = typeof error === 'string' ? error : `status ${response.status}`;
    return new RequestError(refusal(code, description), response, code);
  }
  if (!(failure instanceof openid.ClientError)) throw failure;
  const isUnread = failure.code === 'OAUTH_PARSE_ERROR' || failure.code === 'OAUTH_TIMEOUT';
  return new RequestError(`${failure.message}.`, isUnread ? undefined : new Response());
}

/** An error response on one line (RFC 6749 §5.2). */
function refusal(code: string, description: unknown): string {
  return typeof description === 'string' ? `${code}: ${description}` : code;
}

/** The parameters that have a value. */
export function given(parameters: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
