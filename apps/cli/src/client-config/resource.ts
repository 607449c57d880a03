import type { DeclaredApplication, DeclaredTenant } from '@tessera/directory';
import { CommandError } from '../terminal.ts';
import type { Stack } from './stacks.ts';

export type Resource = DeclaredTenant['resources'][number];

/** The API resource of a configuration. */
export interface Choice {
  /** Undefined: the application has none, or the stack uses none. */
  readonly resource: Resource | undefined;
  /** What could be chosen instead. */
  readonly others: readonly Resource[];
}

/**
 * Chooses the resource that `audience` names, or the first that the application can use. Throws CommandError if it
 * cannot use it.
 */
export function chooseResource(
  tenant: DeclaredTenant,
  application: DeclaredApplication,
  { title, idTokensOnly, introspects }: Stack,
  audience: string | undefined,
): Choice {
  const { clientId, scopes, introspectAudiences } = application;
  if (idTokensOnly === true) {
    if (audience === undefined) return { resource: undefined, others: [] };
    throw new CommandError(`Leave out --resource: ${title} uses ID tokens, which are for no API resource.`);
  }
  const usable = tenant.resources.filter((candidate) =>
    introspects === true
      ? introspectAudiences.includes(candidate.audience)
      : candidate.scopes.some(({ name }) => scopes.includes(name)),
  );
  const resource =
    audience === undefined ? usable[0] : usable.find((candidate) => candidate.audience === audience);
  if (resource === undefined && audience !== undefined) {
    const what = introspects === true ? `introspectAudiences: ['${audience}']` : `a scope of ${audience}`;
    if (tenant.resources.some((candidate) => candidate.audience === audience))
      throw new CommandError(`Declare ${what} for ${clientId}: --resource names it.`);
    const declared = tenant.resources.map((candidate) => candidate.audience).join(', ') || 'none';
    throw new CommandError(
      `The tenant ${tenant.id} declares no API resource ${audience}. Choose of: ${declared}.`,
    );
  }
  return { resource, others: usable.filter((candidate) => candidate !== resource) };
}
