import type { BuiltService } from '@tessera/rpc';
import type { Runtime } from '../runtime.ts';

type Handler = (request: unknown, context: unknown) => unknown;

/** The service, which refuses every call and is not ready while the clock of the process is wrong. */
export function refuseWhileClockIsWrong(
  built: BuiltService,
  { requireClock }: Pick<Runtime, 'requireClock'>,
): BuiltService {
  const checked = (handlers: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      Object.entries(handlers).map(([name, handler]): [string, Handler] => [
        name,
        (request, context) => {
          requireClock();
          return (handler as Handler).call(handlers, request, context);
        },
      ]),
    );
  return {
    ...built,
    routes: built.routes.map((route) => ({ ...route, handlers: checked(route.handlers) })),
    async ready() {
      requireClock();
      await built.ready();
    },
  };
}
