import type { BuiltService, CallContext, Principal } from '@tessera/rpc';

/** The service as called by a principal, which the RPC listener establishes for remote calls. */
export function asPrincipal(service: BuiltService, principal: Principal): BuiltService {
  const withPrincipal = (handler: unknown) =>
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
      Object.entries(route.handlers).map(([name, handler]) => [name, withPrincipal(handler)]),
    ),
  }));
  return { ...service, routes };
}
