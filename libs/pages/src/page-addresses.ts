import type { FastifyReply } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import { longestHead } from './longest-head.ts';

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

/** A path with what of its query is given. */
export function withParameters(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
