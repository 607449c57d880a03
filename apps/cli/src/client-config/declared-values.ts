import type { DeclaredApplication } from '@tessera/directory';
import { builtInScopes } from '@tessera/oauth';
import type { Choice } from './resource.ts';
import type { Stack } from './stacks.ts';

/** What a placeholder such as `{{redirectUri}}` is called in a declaration. */
export const declaredAs = {
  issuer: 'an issuer',
  issuerOrigin: 'an issuer',
  issuerHost: 'an issuer',
  issuerPath: 'an issuer',
  clientId: 'a clientId',
  scope: 'scopes',
  scopeList: 'scopes',
  otherScopes: 'scopes',
  otherScopeList: 'scopes',
  redirectUri: 'a redirect URI',
  origin: 'a redirect URI',
  logoutRedirectUri: 'a logout redirect URI',
  audience: 'a scope of an API resource',
  encodedAudience: 'a scope of an API resource',
  apiScope: 'a scope of an API resource',
  encodedApiScope: 'a scope of an API resource',
  signingAlgorithm: 'a scope of an API resource',
} as const;

/** Undefined: the declaration has no such value. */
export type Values = Readonly<Record<keyof typeof declaredAs, string | undefined>>;

/** The values of a declaration, with those of its scopes that one request of a person's grant may name together. */
export function valuesOf(
  issuer: string,
  { clientId, scopes, redirectUris, logoutRedirectUris }: DeclaredApplication,
  stack: Stack,
  { resource }: Choice,
): Values {
  const ofResource = new Set(resource?.scopes.map(({ name }) => name));
  const requested = scopes.filter((name) => builtInScopes.has(name) || ofResource.has(name));
  const others = requested.filter((name) => name !== 'openid');
  const redirectUri = redirectUris.find((uri) => fits(uri, stack));
  const apiScope = requested.find((name) => ofResource.has(name));
  const { origin, host, pathname } = new URL(issuer);
  return {
    issuer,
    issuerOrigin: origin,
    issuerHost: host,
    issuerPath: pathname === '/' ? '' : pathname,
    clientId,
    scope: requested.length === 0 ? undefined : requested.join(' '),
    scopeList: requested.length === 0 ? undefined : requested.join(','),
    otherScopes: others.join(' '),
    otherScopeList: others.join(','),
    redirectUri,
    origin: redirectUri?.startsWith('http') === true ? new URL(redirectUri).origin : undefined,
    logoutRedirectUri: logoutRedirectUris[0],
    audience: resource?.audience,
    encodedAudience: resource && encodeURIComponent(resource.audience),
    apiScope,
    encodedApiScope: apiScope && encodeURIComponent(apiScope),
    signingAlgorithm: resource?.signingAlgorithm,
  };
}

function fits(uri: string, { callbackPath, redirectUri }: Stack): boolean {
  if (redirectUri !== undefined) return uri === redirectUri;
  return callbackPath === undefined || new URL(uri).pathname === callbackPath;
}
