import { largeToken, namedRoles } from '@tessera/oauth';
import type { DeclaredTenant } from './schema.ts';

/** What a correct declared state is likely not to mean, one sentence each. */
export function warningsIn(tenants: readonly DeclaredTenant[]): string[] {
  return tenants.flatMap((tenant) =>
    [...largeTokens(tenant), ...openRedirects(tenant), ...sharedIdentities(tenant)].map(
      (sentence) => `tenant ${tenant.id}: ${sentence}`,
    ),
  );
}

/** One sentence for each application whose redirect URIs match by their beginning. */
function openRedirects({ applications, endpoints, name }: DeclaredTenant): string[] {
  const isOff = name !== undefined && endpoints !== 'keycloak';
  return applications.flatMap(
    ({ clientId, redirectUriPrefixes: own, logoutRedirectUriPrefixes: ofLogout }) =>
      own.length + ofLogout.length === 0
        ? []
        : [
            isOff
              ? `redirect URIs of the application ${clientId} match by their beginning only with endpoints: keycloak of the tenant`
              : `redirect URIs of the application ${clientId} match by their beginning, so a page there that forwards people to an address of its query sends codes away; list the ones it uses in redirectUris`,
          ],
  );
}

/** One sentence for each application that every pod of a namespace may be. */
function sharedIdentities({ applications }: DeclaredTenant): string[] {
  return applications.flatMap(({ clientId, trusts }) =>
    trusts
      .filter(({ sharedIdentity }) => sharedIdentity)
      .map(
        ({ subject }) =>
          `every pod of the namespace that names no service account can be the application ${clientId}, as it trusts ${subject}; give its pod a service account of its own`,
      ),
  );
}

const personal: ReadonlySet<string> = new Set(['authorization_code', 'device_code', 'ciba']);
/** Characters of an access token with one short role. */
const otherwise = 800;

/**
 * One sentence for each application, about the person with the largest access token: what it holds besides roles is not
 * counted.
 */
function largeTokens({ applications, resources, users }: DeclaredTenant): string[] {
  return applications.flatMap((application) => {
    if (!application.grantTypes.some((name) => personal.has(name))) return [];
    const { allowedRoles, claims, clientId, roles } = application;
    const copies =
      1 +
      Object.values(claims).filter((claim) => claim.roles === true && claim.targets.includes('accessToken'))
        .length;
    const used = resources.filter(({ scopes }) =>
      scopes.some(({ name }) => application.scopes.includes(name)),
    );
    const lists = used.length === 0 ? [[]] : used.map((resource) => resource.roles);
    const sized = users
      .filter((user) => allowedRoles.length === 0 || allowedRoles.some((role) => user.roles.includes(role)))
      .flatMap(({ username, roles: held }) =>
        lists.map((list) => ({ username, named: namedRoles(held, roles, list) })),
      )
      .map(({ username, named }) => ({ username, named, size: otherwise + copies * encodedSize(named) }));
    const largest = sized.reduce<(typeof sized)[number] | undefined>(
      (before, one) => (before === undefined || one.size > before.size ? one : before),
      undefined,
    );
    if (largest === undefined || largest.size <= largeToken) return [];
    const { username, named, size } = largest;
    return [
      `access tokens of the application ${clientId} for ${username} name ${named.length} roles and have about ${Math.round(size / 1024)} KiB, and many servers take no more than 8 KiB in a header; list the roles that it needs in the roles of the application or resource`,
    ];
  });
}

/** As base64url of JSON. */
function encodedSize(roles: readonly string[]): number {
  return Math.ceil((Buffer.byteLength(JSON.stringify(roles)) * 4) / 3);
}
