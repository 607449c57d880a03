import type { TenantIssuers } from '@tessera/directory-client';
import {
  endpointPaths,
  keycloakCookieCheck,
  keycloakPaths,
  keycloakProfile,
  keycloakRealm,
  mostIssuerSegments,
  otherPaths,
  type DeclaredUse,
  type EndpointStyle,
} from '@tessera/oauth';

/** The issuer of its own that a tenant has, and that a request was sent to. */
export interface TenantIssuer {
  readonly issuer: string;
  readonly tenantId: string;
  /** The path of the issuer, with which every address below it begins; empty for a host of its own. */
  readonly basePath: string;
}

/** The issuer of a tenant that a request was sent to, and the address of the request below it. */
export interface Routed {
  readonly tenant: TenantIssuer;
  readonly url: string;
  /** Whether it was sent to a path of Keycloak, in place of ours. */
  readonly isKeycloakPath: boolean;
}

/** Finds the tenant whose issuer a request was sent to. */
export interface IssuerRouter {
  /** Whether the list of issuers has arrived. Until then no request can be told from one to another issuer. */
  isKnown(): boolean;
  /**
   * Undefined for a request to the shared issuer.
   * @param host of the request, as the client named it
   * @param url path and query
   * @param isScript whether it comes from a script with an access token, or asks whether one may come
   */
  route(host: string, url: string, isScript?: boolean): Routed | undefined;
  /** By what paths the endpoints of a tenant's own issuer are found. */
  endpointsOf(tenantId: string): EndpointStyle;
  /** What applications of an issuer make it announce: of a tenant's own, or with '' of the shared one. */
  declaredUseAt(tenantId: string): DeclaredUse;
  /** The issuer of its own that a tenant has; undefined for a tenant at the shared issuer. */
  issuerOf(tenantId: string): string | undefined;
  /** Whether it is a tenant's own issuer. */
  isOfTenant(issuer: string): boolean;
}

/** RFC 8414 §3.1: the well-known path comes before the path of the issuer; clients of OIDC Discovery append it. */
const insertedMetadata = /^(\/\.well-known\/(?:oauth-authorization-server|openid-configuration))(\/.+)$/;

/** By the paths of Keycloak. */
const ourPaths: ReadonlyMap<string, string> = new Map([
  ...Object.entries(keycloakPaths).map(
    ([endpoint, path]) => [path, endpointPaths[endpoint as keyof typeof keycloakPaths]] as const,
  ),
  [keycloakCookieCheck, keycloakCookieCheck],
  ['/', keycloakRealm],
]);

/**
 * @param current the list, or undefined until it is known
 * @param isOtherName whether a host is another name of the shared issuer's, as inside a network: issuers below the
 * shared one are found there too, unless it is the host of a tenant's own issuer
 * @param isSharedPath whether the shared issuer serves a path; no tenant's path hides it
 */
export function createIssuerRouter(deps: {
  readonly current: () => TenantIssuers | undefined;
  readonly endpointsOf: (tenantId: string) => EndpointStyle;
  readonly declaredUseAt: (tenantId: string) => DeclaredUse;
  readonly sharedIssuer: string | undefined;
  readonly isOtherName: (host: string) => boolean;
  readonly isSharedPath: (path: string) => boolean;
}): IssuerRouter {
  const { current, endpointsOf, declaredUseAt, sharedIssuer, isOtherName, isSharedPath } = deps;
  let indexed = indexOf(new Map(), sharedIssuer);

  function index(): IssuerIndex {
    const list = current();
    if (list !== undefined && list !== indexed.list) indexed = indexOf(list, sharedIssuer);
    return indexed;
  }

  function below(tenant: TenantIssuer, path: string, suffix: string, isScript: boolean): Routed {
    const isTheirs = endpointsOf(tenant.tenantId) === 'keycloak';
    const asked = isScript && path === otherPaths.account ? keycloakProfile : ourPaths.get(path);
    const ours = isTheirs ? asked : undefined;
    return { tenant, url: (ours ?? path) + suffix, isKeycloakPath: ours !== undefined };
  }

  return {
    isKnown: () => current() !== undefined,
    route(host, url, isScript = false) {
      const { places, hosts } = index();
      if (places.size === 0) return undefined;
      const name = withoutDefaultPort(host);
      const isShared = !hosts.has(name) && isOtherName(name);
      const [path = '', ...query] = url.split('?');
      const suffix = query.length === 0 ? '' : `?${query.join('?')}`;
      const find = (prefix: string) =>
        places.get(placeOf(name, prefix)) ?? (isShared ? places.get(placeOf('', prefix)) : undefined);
      const [, wellKnown, inserted = ''] = insertedMetadata.exec(path) ?? [];
      const named = wellKnown === undefined ? undefined : find(inserted);
      if (named !== undefined) return below(named, wellKnown ?? '', suffix, false);
      const itself = path === '/' || isSharedPath(path) ? undefined : find(path);
      if (itself !== undefined && endpointsOf(itself.tenantId) === 'keycloak')
        return below(itself, '/', suffix, false);
      for (const prefix of isSharedPath(path) ? [''] : prefixesOf(path)) {
        const tenant = find(prefix);
        if (tenant !== undefined) return below(tenant, path.slice(prefix.length), suffix, isScript);
      }
      return undefined;
    },
    endpointsOf,
    declaredUseAt,
    issuerOf: (tenantId) => index().issuers.get(tenantId),
    isOfTenant: (issuer) => index().list.has(issuer),
  };
}

interface IssuerIndex {
  readonly list: TenantIssuers;
  /** By `placeOf` host and path, or the path alone for those below the shared issuer. */
  readonly places: ReadonlyMap<string, TenantIssuer>;
  /** The hosts of tenants' own issuers, that of the shared one left out. */
  readonly hosts: ReadonlySet<string>;
  /** By tenant. */
  readonly issuers: ReadonlyMap<string, string>;
}

function indexOf(list: TenantIssuers, sharedIssuer: string | undefined): IssuerIndex {
  const places = new Map<string, TenantIssuer>();
  const hosts = new Set<string>();
  const issuers = new Map<string, string>();
  for (const [issuer, tenantId] of list) {
    if (issuer === sharedIssuer) continue;
    const { host, origin, pathname } = new URL(issuer);
    const basePath = pathname === '/' ? '' : pathname;
    const tenant = { issuer, tenantId, basePath };
    places.set(placeOf(host, basePath), tenant);
    if (origin === sharedIssuer) places.set(placeOf('', basePath), tenant);
    else hosts.add(host);
    issuers.set(tenantId, issuer);
  }
  return { list, places, hosts, issuers };
}

/** With a space between them: a Host header may contain a slash, and no path a space. */
function placeOf(host: string, path: string): string {
  return `${host} ${path}`;
}

/** The beginnings of a path that may be an issuer's, the longest first. Something must follow each. */
function prefixesOf(path: string): string[] {
  const prefixes = [''];
  for (
    let end = path.indexOf('/', 1);
    end > 0 && prefixes.length <= mostIssuerSegments;
    end = path.indexOf('/', end + 1)
  ) {
    prefixes.unshift(path.slice(0, end));
  }
  return prefixes;
}

function withoutDefaultPort(host: string): string {
  return host.toLowerCase().replace(/:(443|80)$/, '');
}
