import { collidesWithServedPath, mostIssuerSegments, redirectUriProblem } from '@tessera/oauth';

const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** A tenant with an issuer of its own. */
export interface TenantOwnIssuer {
  readonly tenantId: string;
  readonly issuer: string;
  readonly passkeyDomain: string;
  /** `standard` or `keycloak`. */
  readonly endpoints: string;
  /** The algorithms besides the default that resources of the tenant declare. */
  readonly signingAlgorithms: readonly string[];
}

/**
 * The issuers that tenants have of their own, and what the resources of all others declare, as `TenantOwnIssuer` has
 * it.
 */
export interface ListedIssuers {
  readonly issuers: readonly TenantOwnIssuer[];
  readonly sharedAlgorithms: readonly string[];
}

/**
 * Why a tenant must not have this issuer; undefined if it may (OIDC Discovery §3, RFC 8414 §2). An issuer is compared
 * byte for byte, so it has one spelling: `https://login.acme.example` or `https://id.example/t/acme`.
 */
export function tenantIssuerProblem(issuer: string): string | undefined {
  if (!/^https?:/.test(issuer)) return 'must be an https URL such as https://id.example/t/acme';
  const problem = redirectUriProblem(issuer);
  if (problem !== undefined) return problem.replace(/^It must/, 'must').replace(/\.$/, '');
  const url = new URL(issuer);
  if (issuer.includes('?') || issuer.includes('#')) return 'must not have a query or a fragment';
  if (issuer.endsWith('/')) return 'must not end with a slash';
  const segments = url.pathname === '/' ? [] : url.pathname.slice(1).split('/');
  if (url.origin + (segments.length === 0 ? '' : url.pathname) !== issuer) {
    return 'must not name the default port';
  }
  if (segments.length > mostIssuerSegments || !segments.every((text) => segment.test(text))) {
    return `must have a path of at most ${mostIssuerSegments} segments of letters, digits and . _ -`;
  }
  if (/\/protocol(\/openid-connect(\/|$)|$)/.test(url.pathname))
    return 'must not end in /protocol or have /protocol/openid-connect in its path, where other tenants may have the paths of Keycloak';
  if (segments.length > 0 && collidesWithServedPath(url.pathname)) {
    return `must not have the path ${url.pathname}, at or below which the server has pages, files or endpoints`;
  }
  return undefined;
}
