import type { FastifyReply } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import { longestHead } from '../http/longest-head.ts';

/** Leaves the rest of the headers that the server takes for cookies and what browsers add. */
const longestPath = longestHead - 8 * 1024;

/**
 * Sends the browser to a page of ours by GET, after a form (303, RFC 9110 §15.4.4). Throws `invalid_request` for an
 * address that the next request could not carry.
 */
export function redirectToPage(reply: FastifyReply, path: string): FastifyReply {
  if (path.length > longestPath) throw tooLong();
  return reply.header('cache-control', 'no-store').redirect(path, 303);
}

/** The error of a request whose parameters a page or the next request cannot carry on. */
export function tooLong(): OAuthError {
  return new OAuthError('invalid_request', 'The request is too long. Shorten its parameters.');
}

/** `/device` with what of its query is given. */
export function devicePath(query: {
  readonly user_code: string | undefined;
  readonly proof?: string;
}): string {
  return withParameters('/device', query);
}

/** `/approvals`; the tenant says where to sign in. */
export function approvalsPath(tenantId?: string): string {
  return withParameters('/approvals', { tenant: tenantId });
}

/** `/account`; the tenant says where to sign in. */
export function accountPath(tenantId?: string): string {
  return withParameters('/account', { tenant: tenantId });
}

/** `/password`; the tenant says where to sign in. */
export function passwordPath(tenantId?: string): string {
  return withParameters('/password', { tenant: tenantId });
}

/** `/password/link` without a link, for what became of one; the tenant says where to sign in. */
export function passwordLinkPath(tenantId: string): string {
  return withParameters(otherPaths.passwordLink, { tenant: tenantId });
}

/** `/password/forgot`; the tenant says whose people it is for, and `sent` that the request was made. */
export function forgottenPasswordPath(
  query: { readonly tenant?: string | undefined; readonly sent?: '1' } = {},
): string {
  return withParameters('/password/forgot', query);
}

/**
 * `/login` of a visit; `again` is its request (`carriedRequest`), which the page begins anew once the visit is over.
 */
export function loginPath(interaction: string, again?: string): string {
  return withParameters('/login', { interaction, again });
}

/** `/register`; the visit is the one to go on with, and `sent` says that the request was made. */
export function registrationPath(query: {
  readonly tenant?: string | undefined;
  readonly interaction?: string | undefined;
  readonly sent?: '1';
}): string {
  return withParameters('/register', query);
}

function withParameters(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
