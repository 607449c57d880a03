import { createGuard, type Requirement } from '../guard.ts';
import type { ActiveToken, Introspector } from '../introspector-types.ts';

/** What this adapter needs of a request and a response: Express's and those of `node:http` have it. */
interface NodeLikeRequest {
  readonly headers: { readonly authorization?: string | undefined };
}

interface NodeLikeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Middleware that lets requests with a good access token through and puts it on the request as `token`. */
export function expressBearer(introspector: Introspector, requirement: Requirement) {
  const guard = createGuard(introspector, requirement);
  /** Whether the request may go on; otherwise it has been answered. */
  const passes = async (request: NodeLikeRequest, response: NodeLikeResponse): Promise<boolean> => {
    const verdict = await guard(request.headers.authorization);
    if (verdict.ok) {
      (request as NodeLikeRequest & { token: ActiveToken }).token = verdict.token;
      return true;
    }
    const { status, headers, error, message } = verdict.refusal;
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ error, message }));
    return false;
  };
  return async (
    request: NodeLikeRequest,
    response: NodeLikeResponse,
    next: (error?: unknown) => void,
  ): Promise<void> => {
    if (await passes(request, response)) next();
  };
}
