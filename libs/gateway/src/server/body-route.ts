import type { FastifyReply, FastifyRequest } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import { count, mediaType, type MediaType, rawQuery } from '@tessera/pages';
import type { Dialect } from '../dialects/dialect.ts';
import { dialectOf } from '../dialects/dialects.ts';
import { withSpelling } from '../dialects/other-spelling.ts';
import { requestParameters } from '../dialects/request-parameters.ts';
import type { Gateway } from '../gateway.ts';
import { methodsFor, type BodyRoute } from '../routes.ts';
import { sendJson } from '../http/answers.ts';
import { readBody } from '../http/body.ts';

const mediaTypeOf: Readonly<Record<Dialect['name'], MediaType>> = { contract: 'json', standard: 'form' };

/** Runs a body endpoint: chooses the dialect, reads the parameters once, answers in the same dialect. */
export async function answerBody(
  route: BodyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<void> {
  const { isKeycloakPath } = request.incoming;
  const dialects = route.dialects.filter((name) => name === 'standard' || !isKeycloakPath);
  requireMethod(route, request, reply);
  const { type, parameters, names } = readBody(
    request,
    dialects.map((name) => mediaTypeOf[name]),
  );
  const { authorization } = request.headers;
  if (count(request.raw, 'authorization') > 1) {
    throw new OAuthError('invalid_request', 'The Authorization header is given more than once.');
  }
  const dialect = dialectOf[type];
  const read = {
    incoming: request.incoming,
    request,
    dialect,
    parameters: requestParameters(parameters, dialect),
    query: rawQuery(request),
    path: request.params as Record<string, string>,
    authorization,
  };
  const answer = await route.handle(read, gateway).catch((error: unknown) => {
    throw withSpelling(error, names, dialect);
  });
  reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
  sendJson(reply, JSON.stringify(answer));
}

/** Throws `method_not_allowed` if the path takes the dialect of the request with another method only. */
function requireMethod(route: BodyRoute, request: FastifyRequest, reply: FastifyReply): void {
  const type = mediaType(request.headers['content-type']);
  const { isKeycloakPath } = request.incoming;
  if (type === undefined && !isKeycloakPath) return;
  const dialect = type === undefined || isKeycloakPath ? 'standard' : dialectOf[type].name;
  const methods = methodsFor(route.path, dialect);
  if (methods.length === 0 || methods.includes(route.method)) return;
  reply.header('allow', methods.join(', '));
  const where = isKeycloakPath ? 'At this path' : 'With this content type';
  throw new OAuthError('method_not_allowed', `${where} the method is ${methods.join(' or ')}.`);
}
