import { OAuthError, receivedText, receivedUri } from '../errors.ts';
import { identityScopes } from '../token/user-claims.ts';

/** Scopes that exist in every tenant and belong to no API resource. */
export const builtInScopes: ReadonlySet<string> = new Set([...identityScopes, 'offline_access']);

/** Lets a client introspect tokens on its own behalf. */
export const introspectionScope = 'tokens.introspect';

/** Scopes that exist in every tenant for clients on their own behalf; their audience is the issuer. */
export const serviceScopes: ReadonlySet<string> = new Set([introspectionScope]);

/** The audience of access tokens for the administration API. No tenant may declare it. */
export const adminAudience = 'urn:tessera:admin';

/** Whether an access token is for this server itself, and so has no other audience. */
export function isForThisServer(scopes: readonly string[], resource: string): boolean {
  return resource === adminAudience || scopes.some((name) => serviceScopes.has(name));
}

/** scope-token of RFC 6749 §3.3: printable ASCII without space, quote and backslash. */
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Whether `name` can be the name of a scope (RFC 6749 §3.3, scope-token). */
export function isScopeToken(name: string): boolean {
  return scopeToken.test(name);
}

/**
 * Reads a `scope` parameter (RFC 6749 §3.3): names separated by spaces, however many. Drops duplicates and keeps the
 * order. A text of nothing but spaces has no scopes. Throws `invalid_scope` for a text outside the grammar.
 */
export function parseScope(text: string): string[] {
  const names = text.split(' ').filter((name) => name !== '');
  if (!names.every(isScopeToken)) {
    throw new OAuthError('invalid_scope', 'The scope must be a list of names separated by spaces.');
  }
  return [...new Set(names)];
}

/** A scope an application was granted; built-in scopes have an empty audience. */
export interface AvailableScope {
  readonly name: string;
  readonly audience: string;
}

export interface ScopeRequest {
  /** The requested scopes; undefined or empty if the request names none. */
  readonly requested: readonly string[] | undefined;
  /** The `resource` parameter (RFC 8707 §2); empty if absent. */
  readonly resource: string;
  /** The scopes granted to the application. */
  readonly available: readonly AvailableScope[];
  /** Those of them that it gets whatever it asks for. */
  readonly always?: readonly string[];
  /** Whether a user makes the grant; false for client credentials. */
  readonly person: boolean;
  /** If the request names no scope, a user grants those of the application without `offline_access` (RFC 8628 §3.1). */
  readonly declaredByDefault?: boolean;
  /**
   * Leave out scopes that are unknown or not granted to the application, rather than refuse the request (OIDC Core
   * §3.1.2.1).
   */
  readonly ignoreUnknown?: boolean;
  /**
   * As Keycloak decides: API scopes may belong to several resources, and a client on its own behalf gets no identity
   * scopes that it asks for, but perhaps a token without any scope.
   */
  readonly likeKeycloak?: boolean;
}

export interface GrantedScopes {
  readonly scopes: string[];
  /**
   * The named resource, else those of the granted API scopes (`resourcesIn`); empty if only built-in scopes were
   * granted.
   */
  readonly resource: string;
}

/**
 * Decides which scopes a request gets, all of them for at most one API resource: those that it names, and those that
 * the application always gets.
 *
 * If a client on its own behalf requests no scope, it gets the API scopes that it always gets, else every one of its
 * one resource (RFC 6749 §3.3 requires a default or an error); a user's grant names its scopes, unless
 * `declaredByDefault`. With `resource`, the API scopes of other resources are dropped (RFC 8707 §2.2), and the token is
 * for that resource even if no API scope is left.
 * Throws `invalid_target` if the application does not have `resource`, and `invalid_scope` if a scope is unknown or not
 * granted, if no scope is left, or if the API scopes belong to two resources, unless as Keycloak decides.
 */
export function grantScopes(request: ScopeRequest): GrantedScopes {
  const audienceOf = new Map(request.available.map((scope) => [scope.name, scope.audience]));
  const named = requireResource(request.resource, request.available);
  const requested = request.requested ?? [];
  const candidates = requested.length === 0 ? unaskedScopes(request, named) : [...new Set(requested)];
  const scopes: string[] = [];
  const audiences = new Set<string>();
  const take = (name: string, audience: string) => {
    if (!builtInScopes.has(name)) audiences.add(audience);
    scopes.push(name);
  };
  const notForIt = request.person ? serviceScopes : builtInScopes;
  for (const name of candidates) {
    const audience = audienceOf.get(name);
    if (audience === undefined || notForIt.has(name)) {
      const isPersonal = audience !== undefined && builtInScopes.has(name);
      if (request.ignoreUnknown === true || (request.likeKeycloak === true && isPersonal)) continue;
      throw new OAuthError(
        'invalid_scope',
        `The scope ${name} is not known or not granted to this application.`,
        { refusal: { received: receivedText(name) } },
      );
    }
    if (builtInScopes.has(name) || named === '' || audience === named) take(name, audience);
  }
  for (const name of request.always ?? []) {
    const audience = audienceOf.get(name);
    if (audience === undefined || notForIt.has(name) || scopes.includes(name)) continue;
    // It never makes a request fail: one of another resource than what is asked for is left out.
    const asked = mayHaveSeveral(request, audiences) ? [] : audiences;
    const [wanted = audience] = named === '' ? asked : [named];
    if (builtInScopes.has(name) || audience === wanted) take(name, audience);
  }
  const mayBeNone = request.likeKeycloak === true && !request.person && named === '';
  if (scopes.length === 0 && !mayBeNone) {
    throw new OAuthError('invalid_scope', "None of the application's scopes match the request.", {
      refusal: { received: receivedText((request.requested ?? []).join(' ')) },
    });
  }
  if (audiences.size > 1 && !mayHaveSeveral(request, audiences)) {
    throw new OAuthError(
      'invalid_scope',
      'The scopes belong to several resources; name one with the resource parameter.',
      { refusal: { received: receivedText(scopes.join(' ')) } },
    );
  }
  return { scopes, resource: audiences.size === 0 ? named : [...audiences].join(' ') };
}

/** Tokens for this server itself are for nobody else, who could use them here. */
function mayHaveSeveral({ likeKeycloak = false }: ScopeRequest, audiences: ReadonlySet<string>): boolean {
  return likeKeycloak && !audiences.has(adminAudience) && !audiences.has('');
}

/**
 * The resources that a user's grant may have if the token request names `resource`; empty: any, as the request names
 * none. If the application has `resource`, a grant without a resource is accepted too: the token request may choose it
 * (RFC 8707 §2.2).
 */
export function grantResourcesFor(resource: string, available: readonly AvailableScope[]): string[] {
  if (resource === '') return [];
  const declared = declaredResource(available, resource);
  return declared === undefined ? [resource] : [declared, ''];
}

/**
 * The declared audience of the resource that a request names; empty if it names none, which is always accepted. Throws
 * `invalid_target` if the application has no scope of it, without which it could get tokens for any API (RFC 8707 §2).
 */
export function requireResource(resource: string, available: readonly AvailableScope[]): string {
  const declared = resource === '' ? '' : declaredResource(available, resource);
  if (declared !== undefined) return declared;
  throw new OAuthError('invalid_target', 'The resource is not known or not available to this application.', {
    refusal: { received: receivedUri(resource) },
  });
}

/**
 * The audience that equals a resource, where an empty path is the path `/` (RFC 3986 §6.2.3). The same text comes
 * first.
 */
function declaredResource(available: readonly AvailableScope[], resource: string): string | undefined {
  const audiences = available.map(({ audience }) => audience).filter((audience) => audience !== '');
  const wanted = withUriPath(resource);
  return (
    audiences.find((audience) => audience === resource) ??
    audiences.find((audience) => withUriPath(audience) === wanted)
  );
}

/** An `http` or `https` URI with the path `/` where it has none (RFC 3986 §6.2.3); other texts as they are. */
export function withUriPath(uri: string): string {
  return uri.replace(/^(https?:\/\/[^/?#]+)(?=\?|$)/i, '$1/');
}

/** The texts that are one URI: with an empty path, and with the path `/` (RFC 3986 §6.2.3). */
export function uriSpellings(uri: string): string[] {
  const whole = withUriPath(uri);
  return [...new Set([whole, whole.replace(/^(https?:\/\/[^/?#]+)\/(?=\?|$)/i, '$1')])];
}

/** The scopes of a request that names none, without those that are added to every request. */
function unaskedScopes({ available, always = [], ...request }: ScopeRequest, named: string): string[] {
  const declared = available.map(({ name }) => name);
  if (request.person && request.declaredByDefault !== true)
    throw new OAuthError('invalid_scope', 'The scope is missing.');
  if (request.likeKeycloak === true && always.length > 0 && named === '') return [];
  if (request.person) return declared.filter((name) => name !== 'offline_access' && !serviceScopes.has(name));
  const ofApis = available.filter(({ name }) => !builtInScopes.has(name));
  const isAdded = ({ name, audience }: AvailableScope) =>
    always.includes(name) && (named === '' || audience === named);
  if (ofApis.some(isAdded)) return [];
  const names = ofApis.map(({ name }) => name);
  const ofResources = names.filter((name) => !serviceScopes.has(name));
  return ofResources.length > 0 ? ofResources : names;
}

/**
 * Scopes of the access token of a refresh request (RFC 6749 §6): the granted ones if none is requested, else the
 * requested ones and those that the application always gets, in the order of the grant. Throws `invalid_scope` if a
 * requested one was not granted.
 */
export function narrowScopes(
  granted: readonly string[],
  requested: readonly string[],
  always: readonly string[] = [],
): string[] {
  if (requested.length === 0) return [...granted];
  if (!requested.every((name) => granted.includes(name))) {
    throw new OAuthError('invalid_scope', 'The scope exceeds what was originally granted.', {
      refusal: { received: receivedText(requested.join(' ')) },
    });
  }
  return granted.filter((name) => requested.includes(name) || always.includes(name));
}
