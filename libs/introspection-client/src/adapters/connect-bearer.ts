import { Code, ConnectError, createContextKey, type Interceptor } from '@connectrpc/connect';
import { createGuard, type GuardRefusal, type Requirement } from '../guard.ts';
import type { ActiveToken, Introspector } from '../introspector-types.ts';

/** Where a handler finds the token: `context.values.get(connectToken)`. */
export const connectToken = createContextKey<ActiveToken | undefined>(undefined, {
  description: 'the access token of the call',
});

/** An interceptor for Connect servers that lets calls with a good access token through. */
export function connectBearer(introspector: Introspector, requirement: Requirement): Interceptor {
  const guard = createGuard(introspector, requirement);
  return (next) => async (request) => {
    const verdict = await guard(request.header.get('authorization') ?? undefined);
    if (!verdict.ok) throw errorOf(verdict.refusal);
    request.contextValues.set(connectToken, verdict.token);
    return next(request);
  };
}

const codes: Readonly<Record<GuardRefusal['status'], Code>> = {
  400: Code.Unauthenticated,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  503: Code.Unavailable,
};

function errorOf({ status, headers, message, cause }: GuardRefusal): ConnectError {
  return new ConnectError(message, codes[status], new Headers(headers), undefined, cause);
}
