import type { FastifyReply, FastifyRequest } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import { count, mediaType, parseBody, requireMediaType, unsupportedMediaType } from './body.ts';
import { contract } from '../dialects/contract.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { standard } from '../dialects/standard.ts';
import { errorHeaders, publicCode } from './errors.ts';
import type { Gateway } from '../gateway.ts';
import { requestParameters } from './request-parameters.ts';
import { rawQuery } from '../pages/browser.ts';
import { methodsFor, type BodyRoute } from '../routes.ts';

/** Runs a body endpoint: chooses the dialect, reads the parameters once, answers in the same dialect. */
export async function answerBody(
  route: BodyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<void> {
  const type = requireMediaType(request.raw, request.body);
  const dialect = type === 'json' ? contract : standard;
  if (!route.dialects.includes(dialect.name)) refuseDialect(route, dialect, reply);
  const { authorization } = request.headers;
  if (authorization !== undefined && count(request.raw, 'authorization') > 1) {
    throw new OAuthError('invalid_request', 'The Authorization header is given more than once.');
  }
  const parameters = requestParameters(parseBody(type, request.body), dialect);
  const answer = await route.handle(
    { incoming: request.incoming, dialect, parameters, query: rawQuery(request), authorization },
    gateway,
  );
  reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
  sendJson(reply, JSON.stringify(answer));
}

/** Offered at another method of the same path: 405. Not offered at the path at all: 415. */
function refuseDialect(route: BodyRoute, dialect: Dialect, reply: FastifyReply): never {
  const methods = methodsFor(route.path, dialect.name);
  if (methods.length === 0) throw unsupportedMediaType();
  reply.header('allow', methods.join(', '));
  throw new OAuthError('method_not_allowed', `With this content type the method is ${methods.join(' or ')}.`);
}

/** Answers an error in the dialect of the request, or the contract's where the request has none. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: OAuthError): FastifyReply {
  errorHeaders(request, reply, error);
  const dialect = mediaType(request.headers['content-type']) === 'form' ? standard : contract;
  return sendJson(reply, JSON.stringify(dialect.failure(publicCode(error), error.message)));
}

/** Sends a text that is JSON already. */
export function sendJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(text);
}
