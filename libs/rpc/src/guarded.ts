import type { BuiltService, Route } from './call.ts';

type Handler = (request: unknown, context: unknown) => unknown;

/**
 * A service whose calls are refused, and which is not ready, while `require` throws.
 * @param require throws what callers are told
 */
export function guarded(built: BuiltService, require: () => void): BuiltService {
  return {
    ...built,
    routes: built.routes.map((route) => ({ ...route, handlers: guardedHandlers(route, require) })),
    async ready() {
      require();
      await built.ready();
    },
  };
}

function guardedHandlers({ handlers }: Route, require: () => void): Route['handlers'] {
  const entries = Object.entries(handlers).map(([name, handler]): [string, Handler] => [
    name,
    (request, context) => {
      require();
      return (handler as Handler).call(handlers, request, context);
    },
  ]);
  return Object.fromEntries(entries);
}
