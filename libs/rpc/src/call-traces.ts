import type { DescMethod } from '@bufbuild/protobuf';
import type { IncomingHttpHeaders } from 'node:http2';
import type { CallerName } from './call.ts';
import type { UnaryInvocation } from './invocation.ts';
import type { UnaryCall } from './typed-client.ts';
import { formatTraceparent, parseTraceparent, traceparentKey, activeTracer } from '@tessera/telemetry';
import type { TraceContext } from '@tessera/telemetry';

/** Where a call over the wire stands: under a span of its caller, or at the start of a trace. */
export type TraceOrigin = { readonly parent: TraceContext | undefined };

/** Callers that are none of our processes, so that nobody decided before them whether a request is traced. */
const outside: ReadonlySet<CallerName> = new Set(['introspector', 'operator']);

/** What the headers of an admitted call say of its trace; undefined where it has none. */
export function traceOriginOf(headers: IncomingHttpHeaders, caller: CallerName): TraceOrigin | undefined {
  if (activeTracer() === undefined) return undefined;
  const parent = parseTraceparent(headers[traceparentKey]);
  return parent !== undefined || outside.has(caller) ? { parent } : undefined;
}

/** The current span as a call onward carries it: name and value; empty where there is none. */
export function traceHeaders(): readonly string[] {
  const span = activeTracer()?.current();
  return span === undefined ? noHeaders : [traceparentKey, formatTraceparent(span.context)];
}

const noHeaders: readonly string[] = [];

/** The serving side: a span under that of the caller, be it in this process or in another. */
export function traceServed(method: DescMethod, invoke: UnaryInvocation): UnaryInvocation {
  const tracer = activeTracer();
  if (tracer === undefined) return invoke;
  const about = described(method);
  return (request, call) => {
    const rpc = { ...about.attributes, 'tessera.request_id': call.requestId };
    const work = () => invoke(request, call);
    const { origin } = call;
    return origin === undefined
      ? tracer.inChild(
          { ...about, kind: 'internal', attributes: { ...rpc, 'rpc.system.name': 'local' } },
          work,
        )
      : tracer.inRoot(
          { ...about, kind: 'server', attributes: { ...rpc, 'rpc.system.name': 'grpc' } },
          origin.parent,
          work,
        );
  };
}

/** The calling side of a call over the wire. */
export function traceCalling(method: DescMethod, call: UnaryCall): UnaryCall {
  const tracer = activeTracer();
  if (tracer === undefined) return call;
  const about = described(method);
  const options = {
    ...about,
    kind: 'client',
    attributes: { ...about.attributes, 'rpc.system.name': 'grpc' },
  } as const;
  return (init, callOptions) => tracer.inChild(options, () => call(init, callOptions));
}

function described(method: DescMethod) {
  const service = method.parent.typeName;
  return {
    name: `${service}/${method.name}`,
    attributes: { 'rpc.service': service, 'rpc.method': method.name },
  };
}
