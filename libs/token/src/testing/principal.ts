import type { BuiltService, CallContext, Principal } from '@tessera/rpc';

/** The service as it is called by a principal; on the wire the gate of the kit establishes it. */
export function asPrincipal(service: BuiltService, principal: Principal): BuiltService {
  const give = (handler: unknown) =>
    typeof handler === 'function'
      ? (request: unknown, context: CallContext) => {
          const { caller, requestId, deadline, signal } = context;
          const onward = () => context.onward();
          const named: CallContext = { caller, requestId, deadline, signal, onward, principal };
          return (handler as (request: unknown, context: CallContext) => unknown)(request, named);
        }
      : handler;
  const routes = service.routes.map((route) => ({
    ...route,
    handlers: Object.fromEntries(
      Object.entries(route.handlers).map(([name, handler]) => [name, give(handler)]),
    ),
  }));
  return { ...service, routes };
}
