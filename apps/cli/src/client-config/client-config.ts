import { readFileSync } from 'node:fs';
import type { DeclaredApplication, DeclaredTenant } from '@tessera/directory';
import { CommandError } from '../terminal.ts';
import { problemsOf } from './problems.ts';
import { chooseResource, type Choice } from './resource.ts';
import type { Stack } from './stacks.ts';
import { valuesOf, type Values } from './declared-values.ts';

/** A client's configuration, and hints for its user, each of one sentence or more. */
export interface ClientConfig {
  readonly text: string;
  readonly hints: readonly string[];
}

export interface ClientConfigRequest {
  readonly tenants: readonly DeclaredTenant[];
  readonly clientId: string;
  readonly stack: Stack;
  /** Of the deployment: used by tenants without an issuer of their own. */
  readonly issuer: string;
  /** Audience of the API resource whose scopes are asked for; absent: the first that the application has scopes of. */
  readonly audience?: string | undefined;
}

/**
 * The configuration of a declared application for a stack, with the values of the declaration: its scopes, of at most
 * one API resource, as an authorization request may name no more. Throws CommandError if no tenant declares the
 * application, or if its declaration cannot work with the stack.
 */
export function clientConfig({
  tenants,
  clientId,
  stack,
  issuer,
  audience,
}: ClientConfigRequest): ClientConfig {
  for (const tenant of tenants) {
    const application = tenant.applications.find((candidate) => candidate.clientId === clientId);
    if (application === undefined) continue;
    const choice = chooseResource(tenant, application, stack, audience);
    const values = valuesOf(tenant.issuer || issuer.replace(/\/+$/, ''), application, stack, choice);
    const snippet = readFileSync(new URL(`./snippets/${stack.id}.txt`, import.meta.url), 'utf8');
    const problems = problemsOf({ tenant, application, stack, choice, values, snippet });
    if (problems.length > 0) throw new CommandError(problems.join('\n'));
    return { text: filled(snippet, values), hints: hintsOf(stack, tenant, application, choice, issuer) };
  }
  throw new CommandError(`No tenant of the file declares the application ${clientId}.`);
}

/** Fills the placeholders in. A line of scopes that the application has none of is left out. */
function filled(snippet: string, values: Values): string {
  const isLeftOut = (line: string) => /\{\{otherScope(s|List)\}\}/.test(line) && values.otherScopes === '';
  const lines = snippet.split('\n').filter((line) => !isLeftOut(line));
  return lines.join('\n').replaceAll(/\{\{(\w+)\}\}/g, (_match, name: keyof Values) => values[name] ?? '');
}

function hintsOf(
  stack: Stack,
  tenant: DeclaredTenant,
  application: DeclaredApplication,
  { resource, others }: Choice,
  issuer: string,
): string[] {
  const hints = [`This is ${stack.file}.`];
  if (stack.note !== undefined) hints.push(stack.note);
  if (tenant.issuer !== '' && tenant.issuer !== issuer) {
    hints.push(`The issuer is ${tenant.issuer}, the own one of the tenant ${tenant.id}.`);
  }
  if (resource !== undefined && others.length > 0) {
    const names = others.map(({ audience }) => audience).join(', ');
    hints.push(
      `The API is ${resource.audience}. ${application.clientId} may also use ${names}: choose with --resource.`,
    );
  }
  return hints;
}
