import { Metadata, ServerInterceptingCall, status, type ServerInterceptor } from '@grpc/grpc-js';
import { createGuard, type GuardRefusal, type Requirement } from '../guard.ts';
import type { ActiveToken, Introspector } from '../introspector-types.ts';

const slot = 'tessera.access_token';

/** The token of a call, given the metadata that its handler sees. */
export function grpcToken(metadata: Metadata): ActiveToken | undefined {
  return metadata.getOpaque(slot) as ActiveToken | undefined;
}

/** An interceptor for servers of `@grpc/grpc-js` that lets calls with a good access token through. */
export function grpcBearer(introspector: Introspector, requirement: Requirement): ServerInterceptor {
  const guard = createGuard(introspector, requirement);
  return (_method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, forward) => {
            void guard(metadata.get('authorization')[0]?.toString()).then((verdict) => {
              if (!verdict.ok) return call.sendStatus(statusOf(verdict.refusal));
              metadata.setOpaque(slot, verdict.token);
              forward(metadata);
            });
          },
        });
      },
    });
}

const codes: Readonly<Record<GuardRefusal['status'], status>> = {
  400: status.UNAUTHENTICATED,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  503: status.UNAVAILABLE,
};

function statusOf({ status: http, headers, message }: GuardRefusal) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return { code: codes[http], details: message, metadata };
}
