import type { DescMethod } from '@bufbuild/protobuf';
import type { IncomingHttpHeaders } from 'node:http2';
import type { CallerName } from './call.ts';
import type { UnaryCall } from './typed-client.ts';
import {
  isTracing,
  methodName,
  readTraceparent,
  traced,
  tracedRoot,
  traceparentKey,
} from '@tessera/telemetry';
import type { SpanContext } from '@tessera/telemetry';

/** What carries calls over the wire, as OpenTelemetry names it (`rpc.system.name`). */
type RpcSystem = 'grpc' | 'connectrpc';

/** Where the trace of a call over the wire starts: at a span of its caller, or with the call itself. */
export type TraceOrigin = { readonly system: RpcSystem; readonly parent: SpanContext | undefined };

/** Callers outside of our processes, so that no gateway has decided whether the request is traced. */
const outside: ReadonlySet<CallerName> = new Set(['introspector', 'operator']);

/** The origin that the headers of an admitted call name; undefined if it is not traced. */
export function traceOriginOf(
  system: RpcSystem,
  headers: IncomingHttpHeaders,
  caller: CallerName,
): TraceOrigin | undefined {
  if (!isTracing()) return undefined;
  const parent = readTraceparent(headers[traceparentKey]);
  return parent !== undefined || outside.has(caller) ? { system, parent } : undefined;
}

interface TracedCall {
  readonly origin: TraceOrigin | undefined;
  readonly requestId: string;
}

/** The serving side: a span under that of the caller, be it in this process or in another. */
export function traceServed<R, C extends TracedCall, A>(
  method: DescMethod,
  invoke: (request: R, call: C) => Promise<A>,
): (request: R, call: C) => Promise<A> {
  if (!isTracing()) return invoke;
  const about = described(method);
  return (request, call) => {
    const { origin, requestId } = call;
    const kind = origin === undefined ? ('internal' as const) : ('server' as const);
    const system = origin?.system ?? 'local';
    const attributes = { ...about.attributes, 'tessera.request_id': requestId, 'rpc.system.name': system };
    const span = { ...about, kind, attributes };
    const work = () => invoke(request, call);
    return origin === undefined ? traced(span, work) : tracedRoot(span, origin.parent, work);
  };
}

/** The calling side of a call over the wire. */
export function traceCalling(method: DescMethod, call: UnaryCall): UnaryCall {
  if (!isTracing()) return call;
  const about = described(method);
  const options = {
    ...about,
    kind: 'client',
    attributes: { ...about.attributes, 'rpc.system.name': 'grpc' },
  } as const;
  return (init, callOptions) => traced(options, () => call(init, callOptions));
}

function described(method: DescMethod) {
  const attributes = { 'rpc.service': method.parent.typeName, 'rpc.method': method.name };
  return { name: methodName(method), attributes };
}
