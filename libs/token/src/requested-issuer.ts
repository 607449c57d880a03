import type { DirectoryClient, RequestedIssuer } from '@tessera/directory-client';
import type { Caller } from '@tessera/proto-gen/token';

/**
 * The issuer of a request: that of the tenant it was sent to, else the configured one, else the one that the gateway
 * derived from the host. Undefined for a call that no request of the gateway caused.
 */
export function requestedIssuer(
  configured: string | undefined,
  caller: Partial<Pick<Caller, 'issuer' | 'tenantId'>> | undefined,
): string | undefined {
  const { issuer = '', tenantId = '' } = caller ?? {};
  return (tenantId === '' ? configured : undefined) ?? (issuer === '' ? undefined : issuer);
}

/** As `requestedIssuer`. Throws if there is none. */
export function issuerOf(
  configured: string | undefined,
  caller: Partial<Pick<Caller, 'issuer' | 'tenantId'>> | undefined,
): string {
  const issuer = requestedIssuer(configured, caller);
  if (issuer === undefined) throw new Error('the request carries no issuer and none is configured');
  return issuer;
}

/** Where a request was sent, to authenticate its client. */
export function requestedAt(caller: Caller | undefined): RequestedIssuer {
  return { issuer: caller?.issuer ?? '', tenantId: caller?.tenantId ?? '' };
}

interface Issuers {
  /** The shared one, if it is configured. */
  readonly issuer: string | undefined;
  readonly directory: Pick<DirectoryClient, 'tenantIssuers'>;
}

/**
 * Whether access tokens of an issuer are accepted where a request was sent; undefined: at every issuer of this server.
 */
export function servesAccessTokensOf(
  issuers: Issuers,
  requested: string | undefined,
  issuer: string,
): boolean | Promise<boolean> {
  return requested === undefined ? isOwnIssuer(issuers, issuer) : issuer === requested;
}

/**
 * As `servesAccessTokensOf` for refresh families. A refresh token of the shared issuer can be used at every host unless
 * one issuer is configured.
 */
export async function servesFamiliesOf(
  issuers: Issuers,
  requested: { readonly issuer: string | undefined; readonly tenantId: string },
  issuer: string,
): Promise<boolean> {
  if (requested.issuer === undefined || issuers.issuer !== undefined || requested.tenantId !== '') {
    return servesAccessTokensOf(issuers, requested.issuer, issuer);
  }
  return !(await issuers.directory.tenantIssuers()).has(issuer);
}

/**
 * Whether tokens of an issuer are tokens of this server: any if none is configured, else the shared one's and the
 * tenants'.
 */
export async function isOwnIssuer(
  { issuer: configured, directory }: Issuers,
  issuer: string,
): Promise<boolean> {
  if (configured === undefined || issuer === configured) return true;
  return (await directory.tenantIssuers()).has(issuer);
}
