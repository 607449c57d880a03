import { OAuthError } from '@tessera/oauth';

/**
 * What a request says about the host it was sent to. The forwarded values are given only when a trusted proxy set them.
 */
export interface RequestedHost {
  readonly host: string | undefined;
  readonly forwardedHost: string | undefined;
  readonly forwardedProto: string | undefined;
}

export interface IssuerRule {
  /** True when it is configured, so that it does not depend on the request. */
  readonly explicit: boolean;
  /** The issuer for a request. Throws `invalid_request` for a host that is not allowed. */
  resolve(requested: RequestedHost): string;
}

/** The issuer is the configured one, or else the origin of the request's host, if that is on the allowed list. */
export function issuerRule(configured: string | undefined, allowedHosts: readonly string[]): IssuerRule {
  if (configured !== undefined) return { explicit: true, resolve: () => configured };
  const isAllowed = hostFilter(allowedHosts);
  return { explicit: false, resolve: (requested) => inferred(requested, isAllowed) };
}

/** Whether a host in lower case, with or without a port, is on a list; an entry without a port allows every port. */
export function hostFilter(allowedHosts: readonly string[]): (host: string) => boolean {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  return (host) => {
    const name = hostPattern.exec(host)?.[1];
    return name !== undefined && (allowed.has(name) || allowed.has(host));
  };
}

const hostPattern = /^(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(:[1-9]\d{0,4})?$/;

function inferred(requested: RequestedHost, isAllowed: (host: string) => boolean): string {
  const host = (lastValue(requested.forwardedHost) ?? requested.host ?? '').toLowerCase();
  const scheme = lastValue(requested.forwardedProto)?.toLowerCase() ?? 'http';
  const origin =
    isAllowed(host) && (scheme === 'http' || scheme === 'https')
      ? URL.parse(`${scheme}://${host}`)?.origin
      : undefined;
  if (origin === undefined) throw unknownHost();
  return origin;
}

/** The error for a request to a host that is not allowed. */
export function unknownHost(): OAuthError {
  return new OAuthError('invalid_request', 'This service does not answer for the requested host.');
}

/** The value the nearest proxy added. */
export function lastValue(header: string | undefined): string | undefined {
  const value = header?.split(',').pop()?.trim();
  return value === '' ? undefined : value;
}
