import {
  Code,
  ConnectError,
  local,
  type BuiltService,
  type CallerName,
  type Handlers,
  type Route,
} from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';

type DescService = Route['service'];

/** A fake of another service, called in process like the real one. Methods without a handler are UNIMPLEMENTED. */
export function fakePeer<S extends DescService>(
  service: S,
  name: CallerName,
  handlers: Partial<Handlers<S>>,
): Client<S> {
  const unimplemented = () =>
    Promise.reject(new ConnectError('the fake does not implement this method', Code.Unimplemented));
  const methods = service.methods.map((method) => method.localName);
  const all = Object.fromEntries(methods.map((method) => [method, unimplemented]));
  const built: BuiltService = {
    name,
    routes: [{ service, handlers: { ...all, ...handlers } }],
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  return local(service, built, 'token', silentLog());
}

/** A switch that makes a fake service unavailable. */
export interface Line {
  cut: boolean;
}

export function throughLine(line: Line): void {
  if (line.cut) throw new ConnectError('the service is unavailable', Code.Unavailable);
}
