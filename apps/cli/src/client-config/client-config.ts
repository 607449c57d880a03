import { readFileSync } from 'node:fs';
import type { DeclaredApplication, DeclaredTenant } from '@tessera/directory';
import { CommandError } from '../terminal.ts';
import type { Stack } from './stacks.ts';

/** A client's configuration, and hints for its user, each of one sentence or more. */
export interface ClientConfig {
  readonly text: string;
  readonly hints: readonly string[];
}

/** What a placeholder such as `{{redirectUri}}` is called in a declaration. */
const declaredAs = {
  issuer: 'an issuer',
  clientId: 'a clientId',
  scope: 'scopes',
  scopeList: 'scopes',
  redirectUri: 'a redirect URI',
  origin: 'a redirect URI',
  logoutRedirectUri: 'a logout redirect URI',
  audience: 'a scope of an API resource',
  encodedAudience: 'a scope of an API resource',
  apiScope: 'a scope of an API resource',
} as const;

type Values = Readonly<Record<keyof typeof declaredAs, string | undefined>>;

/**
 * The configuration of a declared application for a stack, with the values of the declaration. `issuer` wins over the tenant's own.
 * Throws CommandError if no tenant declares the application, or if its declaration cannot work with the stack.
 */
export function clientConfig(options: {
  readonly tenants: readonly DeclaredTenant[];
  readonly clientId: string;
  readonly stack: Stack;
  readonly issuer: string | undefined;
  /** Used by tenants without an issuer of their own. */
  readonly sharedIssuer: string;
}): ClientConfig {
  const { tenants, clientId, stack, issuer, sharedIssuer } = options;
  for (const tenant of tenants) {
    const application = tenant.applications.find((candidate) => candidate.clientId === clientId);
    if (application === undefined) continue;
    const values = valuesOf(application, tenant, stack, issuer ?? tenant.issuer ?? sharedIssuer);
    const snippet = readFileSync(new URL(`./snippets/${stack.id}.txt`, import.meta.url), 'utf8');
    const problems = problemsOf(application, stack, snippet, values);
    if (problems.length > 0) throw new CommandError(problems.join('\n'));
    return {
      text: snippet.replaceAll(placeholder, (_match, name: keyof Values) => values[name] ?? ''),
      hints: [`This is ${stack.file}.`, ...(stack.note === undefined ? [] : [stack.note])],
    };
  }
  throw new CommandError(`No tenant of the file declares the application ${clientId}.`);
}

const placeholder = /\{\{(\w+)\}\}/g;

function valuesOf(
  { clientId, scopes, redirectUris, logoutRedirectUris }: DeclaredApplication,
  { resources }: DeclaredTenant,
  { callbackPath }: Stack,
  issuer: string,
): Values {
  const redirectUri = redirectUris.find(
    (uri) => callbackPath === undefined || new URL(uri).pathname === callbackPath,
  );
  const resource = resources.find((candidate) => candidate.scopes.some(({ name }) => scopes.includes(name)));
  return {
    issuer,
    clientId,
    scope: scopes.length === 0 ? undefined : scopes.join(' '),
    scopeList: scopes.length === 0 ? undefined : scopes.join(','),
    redirectUri,
    origin: redirectUri?.startsWith('http') === true ? new URL(redirectUri).origin : undefined,
    logoutRedirectUri: logoutRedirectUris[0],
    audience: resource?.audience,
    encodedAudience: resource && encodeURIComponent(resource.audience),
    apiScope: resource?.scopes.find(({ name }) => scopes.includes(name))?.name,
  };
}

/** What the declaration must say first. */
function problemsOf(
  { clientId, pkce }: DeclaredApplication,
  { title, callbackPath, withoutPkce }: Stack,
  snippet: string,
  values: Values,
): string[] {
  const used = [...snippet.matchAll(placeholder)].map(([, name]) => name as keyof Values);
  const missing = new Set(used.filter((name) => values[name] === undefined).map((name) => declaredAs[name]));
  if (callbackPath !== undefined && values.redirectUri === undefined) missing.add(declaredAs.redirectUri);
  const problems = [...missing].map((what) => {
    const path = what === declaredAs.redirectUri && callbackPath !== undefined;
    return `Declare ${what}${path ? ` with the path ${callbackPath}` : ''} for ${clientId}: ${title} needs it.`;
  });
  if (withoutPkce === true && pkce !== 'optional')
    problems.push(`Declare pkce: optional for ${clientId}: ${title} sends no code challenge.`);
  return problems;
}
