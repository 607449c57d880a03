import { createGuard, type Requirement } from '../guard.ts';
import type { ActiveToken, Introspector } from '../introspector-types.ts';

/** What this adapter needs of Fastify's request and reply, so that it depends on no version of it. */
interface FastifyLikeRequest {
  readonly headers: { readonly authorization?: string | undefined };
}

interface FastifyLikeReply {
  code(status: number): FastifyLikeReply;
  headers(values: Record<string, string>): FastifyLikeReply;
  send(body: unknown): FastifyLikeReply;
}

/**
 * A hook for `onRequest` or `preHandler` that lets requests with a good access token through and puts it on the request
 * as `token`. Declare it: `app.decorateRequest('token', null)`.
 */
export function fastifyBearer(introspector: Introspector, requirement: Requirement) {
  const guard = createGuard(introspector, requirement);
  return async (request: FastifyLikeRequest, reply: FastifyLikeReply): Promise<unknown> => {
    const verdict = await guard(request.headers.authorization);
    if (verdict.ok) {
      (request as FastifyLikeRequest & { token: ActiveToken }).token = verdict.token;
      return undefined;
    }
    const { status, headers, error, message } = verdict.refusal;
    return reply
      .code(status)
      .headers({ ...headers })
      .send({ error, message });
  };
}
