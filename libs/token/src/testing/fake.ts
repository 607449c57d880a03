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

/** A peer with behaviour, called through the kit like the real one. What it does not implement is refused. */
export function fakePeer<S extends DescService>(
  service: S,
  name: CallerName,
  handlers: Partial<Handlers<S>>,
): Client<S> {
  const refuse = () => Promise.reject(new ConnectError('the fake does not offer this', Code.Unimplemented));
  const methods = service.methods.map((method) => method.localName);
  const all = Object.fromEntries(methods.map((method) => [method, refuse]));
  const allow = Object.fromEntries(methods.map((method) => [method, ['token']]));
  const built: BuiltService = {
    name,
    routes: [{ service, handlers: { ...all, ...handlers }, allow: allow as Record<string, CallerName[]> }],
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  return local(service, built, 'token', silentLog());
}

/** A switch that makes a peer unreachable. */
export interface Line {
  cut: boolean;
}

export function throughLine(line: Line): void {
  if (line.cut) throw new ConnectError('the peer is away', Code.Unavailable);
}
