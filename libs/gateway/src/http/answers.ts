import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OAuthError } from '@tessera/oauth';
import { mediaType } from '@tessera/pages';
import { dialectOf } from '../dialects/dialects.ts';
import { errorHeaders, publicCode } from './error-answers.ts';

/** Sends a text that is JSON already. */
export function sendJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(text);
}

/**
 * Answers an error in the dialect of the request, or in the contract's if the request has none; at the paths of
 * Keycloak in that of the standard.
 */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: OAuthError): FastifyReply {
  errorHeaders(request, reply, error);
  const type = request.incoming.isKeycloakPath ? 'form' : mediaType(request.headers['content-type']);
  const dialect = dialectOf[type ?? 'json'];
  return sendJson(reply, JSON.stringify(dialect.failure(publicCode(error), error.message)));
}
