import { isBuiltInScope, refuseRepeated, type Report } from '../fields/field-checks.ts';
import type { ResourceRecord } from './fields.ts';

/** The message for a client ID or an issuer of another tenant. */
export const takenElsewhere = 'belongs to another tenant; remove it there first';

/** The message for an audience of two tenants that do not both say that it is shared. */
export const sharedAudience =
  'is declared by another tenant of the same issuer; say "shared: true" at every tenant that declares it';

/** The message for a client ID that is such an audience, and the reverse: `typ` and `aud` of the tokens would not differ. */
export const jwtAudienceAsClientId =
  'is both a client id and the audience of a resource with tokenType JWT; its access tokens could pass for ID tokens';

interface HasResources {
  readonly resources: readonly Omit<ResourceRecord, 'owner'>[];
}

/** The audiences whose access tokens have the `typ` of ID tokens. */
export function jwtAudiencesOf({
  resources,
}: {
  readonly resources: readonly { readonly audience: string; readonly tokenType: string }[];
}): string[] {
  return resources.filter(({ tokenType }) => tokenType === 'JWT').map(({ audience }) => audience);
}

/**
 * The rules of the resources of a tenant that involve more than one key.
 * @param others resources of the tenant that are not checked
 */
export function checkResources(
  tenant: HasResources,
  report: Report,
  others: readonly { readonly scopes: readonly { readonly name: string }[] }[] = [],
): void {
  refuseRepeated(
    tenant.resources.map((resource) => resource.audience),
    (index) => report(['resources', index, 'audience'], 'is declared twice'),
  );
  const scopes = new Set(others.flatMap((other) => other.scopes.map(({ name }) => name)));
  tenant.resources.forEach((resource, resourceIndex) =>
    resource.scopes.forEach((scope, index) => {
      const path = ['resources', resourceIndex, 'scopes', index];
      if (isBuiltInScope(scope.name)) report(path, 'is built in and may not be declared');
      if (scopes.has(scope.name)) {
        report(path, 'is declared twice; a scope belongs to exactly one resource of its tenant');
      }
      scopes.add(scope.name);
    }),
  );
}

/** Tokens of one issuer are told apart by their audience: two tenants may have one only if both say that it is shared. */
export function checkAudiences(
  tenants: readonly (HasResources & { readonly name?: string | undefined; readonly issuer: string })[],
  report: Report,
): void {
  const owners = new Map<string, { readonly first: number; shared: boolean }>();
  const atSharedIssuer = [...tenants.entries()].filter(
    ([, { name, issuer }]) => name !== undefined && issuer === '',
  );
  for (const [tenantIndex, { resources }] of atSharedIssuer) {
    resources.forEach(({ audience, shared }, index) => {
      const owner = owners.get(audience) ?? { first: tenantIndex, shared: true };
      owner.shared &&= shared;
      owners.set(audience, owner);
      if (owner.first === tenantIndex || owner.shared) return;
      report(['tenants', tenantIndex, 'resources', index, 'audience'], sharedAudience);
    });
  }
}
