import type { FastifyReply, FastifyRequest } from 'fastify';
import { OAuthError } from '@tessera/oauth';

/** The access token of the Authorization header (RFC 6750 §2.1). Throws `invalid_token` without one. */
export function readBearer(request: FastifyRequest): string {
  const token = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined) throw new OAuthError('invalid_token', 'A bearer access token is required.');
  return token;
}

/**
 * Sets the challenge of a refused bearer token (RFC 6750 §3). A request that did not try one gets no error code.
 * @param scope the scope that the token lacks; empty if it lacks none
 * @param tried whether a token was sent
 */
export function challengeBearer(
  request: FastifyRequest,
  reply: FastifyReply,
  error: OAuthError,
  scope: string,
  tried = triedBearer(request),
): void {
  if (error.status !== 401 && error.status !== 403) return;
  const detail = tried ? `, error="${error.code}", error_description="${quotable(error.message)}"` : '';
  const needed = scope === '' ? '' : `, scope="${quotable(scope)}"`;
  reply.header('www-authenticate', `Bearer realm="tessera"${detail}${needed}`);
}

function triedBearer({ headers }: FastifyRequest): boolean {
  return /^bearer\b/i.test(headers.authorization ?? '');
}

/** The characters RFC 6750 §3 allows in `error_description` and `scope`. */
function quotable(text: string): string {
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '');
}
