import type { DeclaredApplication, DeclaredTenant } from '@tessera/directory';
import type { Choice } from './resource.ts';
import type { Stack } from './stacks.ts';
import { declaredAs, type Values } from './declared-values.ts';

interface Parts {
  readonly tenant: DeclaredTenant;
  readonly application: DeclaredApplication;
  readonly stack: Stack;
  readonly choice: Choice;
  readonly values: Values;
  readonly snippet: string;
}

/**
 * Characters that end a text or begin an expression in some language of the snippets, or separate the names of a list.
 */
const special = /['"\\$`,;{}\s]/;

/** Why the declaration cannot work with the stack, and what to declare, one sentence each. Empty: it can. */
export function problemsOf(parts: Parts): string[] {
  const { application, stack, values, snippet } = parts;
  const { clientId } = application;
  const needs = [
    ...statusOf(parts),
    ...typeOf(parts),
    ...grantOf(parts),
    ...redirectUriOf(parts),
    ...missingIn(parts),
    ...tokensOf(parts),
  ];
  const problems = needs.map(([what, why]) => `Declare ${what} for ${clientId}: ${stack.title} ${why}.`);
  if (stack.needsHttps === true && !values.issuer?.startsWith('https://'))
    problems.push(`Use an issuer with https: ${stack.title} accepts no other.`);
  for (const name of placeholdersOf(snippet)) {
    // Scopes are separated by what separates them in the snippet.
    const parted = /^(scope|otherScope)/.test(name) ? values[name]?.split(/[ ,]/).join('') : values[name];
    if (special.test(parted ?? ''))
      problems.push(
        `Write the configuration by hand: ${declaredAs[name]} of ${clientId} has special characters.`,
      );
  }
  return [...new Set(problems)];
}

/** What to declare, and why: the end of a sentence about the stack. */
type Need = readonly [what: string, why: string];

function statusOf({ tenant, application }: Parts): Need[] {
  const isDisabled = tenant.status === 'disabled' || application.status === 'disabled';
  return isDisabled ? [['status: active', 'gets nothing while it or its tenant is disabled']] : [];
}

function typeOf({ application, stack }: Parts): Need[] {
  const why = 'authenticates with a secret';
  if (stack.type === 'confidential' && isProvenOtherwise(application)) return [['a secret', why]];
  if (stack.type === undefined || stack.type === application.type) return [];
  return stack.type === 'public' ? [['type: public', 'keeps no secret']] : [['type: confidential', why]];
}

/** It declares no secret, and that this is meant: otherwise it may have one that the file does not repeat. */
function isProvenOtherwise({ secrets, publicKeys, jwksUri, trusts }: DeclaredApplication): boolean {
  return secrets.length === 0 && (publicKeys.length > 0 || jwksUri !== '' || trusts.length > 0);
}

/** RFC 6749 §4.1; OIDC Core §3.1.2.1 */
function grantOf({ application: { grantTypes, scopes, pkce }, stack }: Parts): Need[] {
  const needs: Need[] = [];
  if (stack.signsIn === true && !grantTypes.includes('authorization_code'))
    needs.push(['the grant type authorization_code', 'signs people in with it']);
  if ((stack.signsIn === true || stack.idTokensOnly === true) && !scopes.includes('openid'))
    needs.push(['the scope openid', 'needs ID tokens']);
  if (stack.needsEmail === true && !scopes.includes('email'))
    needs.push(['the scope email', 'tells people apart by their e-mail addresses']);
  if (stack.withoutPkce === true && pkce !== 'optional')
    needs.push(['pkce: optional', 'sends no code challenge']);
  return needs;
}

function redirectUriOf({ stack: { signsIn, callbackPath, redirectUri }, values }: Parts): Need[] {
  if (signsIn !== true || values.redirectUri !== undefined) return [];
  if (redirectUri !== undefined) return [[`the redirect URI ${redirectUri}`, 'needs it']];
  return [
    [`a redirect URI${callbackPath === undefined ? '' : ` with the path ${callbackPath}`}`, 'needs it'],
  ];
}

function missingIn({ snippet, values, stack }: Parts): Need[] {
  const missing = placeholdersOf(snippet).filter((name) => values[name] === undefined);
  const whats = new Set<string>(missing.map((name) => declaredAs[name]));
  // Said with more of it by the other rules.
  whats.delete(declaredAs.redirectUri);
  if (stack.signsIn === true) whats.delete(declaredAs.scope);
  return [...whats].map((what) => [what, 'needs it']);
}

function tokensOf({ stack, choice: { resource } }: Parts): Need[] {
  if (stack.introspects === true && resource === undefined)
    return [['introspectAudiences with the audience of its API', 'introspects tokens of these alone']];
  if (stack.tokenType === undefined || resource === undefined || resource.tokenType === stack.tokenType)
    return [];
  return [[`tokenType: ${stack.tokenType} at ${resource.audience}`, 'accepts no other access tokens']];
}

function placeholdersOf(snippet: string): (keyof Values)[] {
  return [...snippet.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name as keyof Values);
}
