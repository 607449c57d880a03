import { adminRoles, isAssignable, withUriPath } from '@tessera/oauth';
import { isBuiltInScope, refuseRepeated, type Report } from '../fields/field-checks.ts';
import type { ResourceRecord } from './fields.ts';

/** The message for a client ID or an issuer of another tenant. */
export const takenElsewhere = 'belongs to another tenant; remove it there first';

/** The message for an audience of two tenants that do not both say that it is shared. */
export const sharedAudience =
  'is declared by another tenant of the same issuer; say "shared: true" at every tenant that declares it';

/**
 * The message for a client ID that is such an audience, and the reverse: `typ` and `aud` of the tokens would not
 * differ.
 */
export const jwtAudienceAsClientId =
  'is both a client id and the audience of a resource with tokenType JWT; its access tokens could pass for ID tokens';

/** The message for a client ID of one tenant that is an audience of another one, where tokens could be mixed up. */
export const clientIdAndAudience =
  'is the client id of one tenant and an audience of another one; access tokens of the one could pass for ID tokens of the other';

/** The message for an audience that a tenant has in the other spelling already. */
export const otherSpelling =
  'is an audience of the tenant already, with or without the path "/": they are one URI (RFC 3986 §6.2.3)';

/**
 * The message for a new audience that applications of other owners have already, by which their tokens would be good at
 * the resource; undefined if it says that it is for these owners.
 */
export function audienceOfOthers(
  resource: Pick<ResourceRecord, 'owner' | 'assignableBy'>,
  having: readonly { readonly clientId: string; readonly owner: string }[],
): string | undefined {
  const others = having.filter(({ owner }) => owner !== resource.owner && !isAssignable(resource, owner));
  if (others.length === 0) return undefined;
  const named = others.slice(0, 20).map(({ clientId, owner }) => `${clientId} of the owner "${owner}"`);
  return `is an audience of the application ${named.join(', ')}, whose tokens would be good there; assignableBy has to name its owner`;
}

/** Whether two audiences are one URI: a `resource` that names one finds the other (RFC 3986 §6.2.3). */
export function isSameAudience(one: string, other: string): boolean {
  return withUriPath(one) === withUriPath(other);
}

/**
 * The new audiences of a tenant that it has in the other spelling, too. Those that it had before there was this rule
 * stay.
 * @param all of the tenant afterwards, new ones too
 */
export function spelledTwice(created: readonly string[], all: readonly string[]): string[] {
  return created.filter((audience) => {
    const others = all.filter((other) => other !== audience && isSameAudience(audience, other));
    // Of two new ones the later one is told.
    return others.some(
      (other) => !created.includes(other) || created.indexOf(other) < created.indexOf(audience),
    );
  });
}

/** What the resources of a tenant are among. */
export interface AroundResources {
  /** Resources of the tenant that are not checked. */
  readonly others?: readonly { readonly scopes: readonly { readonly name: string }[] }[];
  /** All roles of the tenant. */
  readonly roles: readonly string[];
}

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

/** The rules of the resources of a tenant that involve more than one key. */
export function checkResources(
  tenant: HasResources,
  report: Report,
  { others = [], roles }: AroundResources,
): void {
  refuseRepeated(
    tenant.resources.map((resource) => resource.audience),
    (index) => report(['resources', index, 'audience'], 'is declared twice'),
  );
  tenant.resources.forEach((resource, index) =>
    checkRoles(resource.roles, roles, (path, message) =>
      report(['resources', index, 'roles', ...path], message),
    ),
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

/** Of a list of roles that a record refers to. */
export function checkRoles(listed: readonly string[], known: readonly string[], report: Report): void {
  listed.forEach((role, index) => {
    if (!known.includes(role) && !adminRoles.has(role)) report([index], 'is not a role of the tenant');
  });
  refuseRepeated(listed, (index) => report([index], 'is listed twice'));
}

/**
 * Tokens of one issuer are told apart by their audience: two tenants may have one only if both say that it is shared.
 */
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
