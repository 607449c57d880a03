import type * as OpenTelemetry from '@opentelemetry/api';
import type { Context, Span, SpanContext, Tracer } from '@opentelemetry/api';
import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import { sqlState } from '../log/serialize-error.ts';
import { outcomeOf } from '../metrics/call-metrics.ts';
import type { AttributeName, AttributeValue, Attributes } from './allow-list.ts';

export type { Span, SpanContext };

export interface SpanOptions {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly attributes?: Attributes;
}

const kinds = { internal: 'INTERNAL', server: 'SERVER', client: 'CLIENT' } as const;

/** Header and metadata key (W3C Trace Context §3.2). */
export const traceparentKey = 'traceparent';

/** Who makes the spans of this process, with the library that is loaded for it. */
interface Tracing {
  readonly tracer: Tracer;
  readonly api: typeof OpenTelemetry;
}

/** Undefined where traces are off, which is the default. */
let active: Tracing | undefined;

/** Whether traces are on. Services ask when they are built: without traces, nothing of them is on their path. */
export function isTracing(): boolean {
  return active !== undefined;
}

/** @returns a function that switches traces off again */
export function activateTracing(tracing: Tracing): () => void {
  active = tracing;
  return () => {
    active = undefined;
  };
}

/**
 * Starts the span of a request that enters the system here, under `parent` if there is one; undefined if it is not
 * sampled.
 */
export function startRootSpan(options: SpanOptions, parent: SpanContext | undefined): Span | undefined {
  return start(options, ({ trace, ROOT_CONTEXT }) =>
    parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
  );
}

/** Runs work, and everything that it starts, within a span. */
export function runInSpan<T>(span: Span, work: () => T): T {
  if (active === undefined) return work();
  const { context, trace } = active.api;
  return context.with(trace.setSpan(context.active(), span), work);
}

/** Runs work in a span of its own that enters the system here. */
export function tracedRoot<T>(
  options: SpanOptions,
  parent: SpanContext | undefined,
  work: () => Promise<T>,
): Promise<T> {
  return untilDone(startRootSpan(options, parent), work);
}

/** Runs work in a span under the current one; without a current span it just runs. */
export function traced<T>(options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return currentSpan() === undefined
    ? work()
    : untilDone(
        start(options, ({ context }) => context.active()),
        work,
      );
}

/** Adds an attribute to the current span. */
export function annotate(name: AttributeName, value: AttributeValue): void {
  currentSpan()?.setAttribute(name, value);
}

/** The fields of a log line that name the current span, as OpenTelemetry calls them. */
export function traceFields(): object {
  return traceFieldsOf(currentSpan());
}

export function traceFieldsOf(span: Span | undefined): object {
  if (span === undefined) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/** The span that a `traceparent` names; undefined if it is malformed, and where traces are off. */
export function readTraceparent(value: unknown): SpanContext | undefined {
  if (active === undefined || typeof value !== 'string') return undefined;
  const { propagation, ROOT_CONTEXT, trace } = active.api;
  return trace.getSpanContext(propagation.extract(ROOT_CONTEXT, { [traceparentKey]: value }));
}

/** The current span as a `traceparent`; undefined without one. */
export function currentTraceparent(): string | undefined {
  if (active === undefined || currentSpan() === undefined) return undefined;
  const { context, propagation } = active.api;
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier[traceparentKey];
}

/** Work that goes on after its request was answered, such as writing gathered rows, is in no span. */
function currentSpan(): Span | undefined {
  const span = active?.api.trace.getActiveSpan();
  return span?.isRecording() === true ? span : undefined;
}

function start(
  { name, kind, attributes = {} }: SpanOptions,
  parentIn: (api: Tracing['api']) => Context,
): Span | undefined {
  if (active === undefined) return undefined;
  const { api, tracer } = active;
  const span = tracer.startSpan(name, { kind: api.SpanKind[kinds[kind]], attributes }, parentIn(api));
  return span.isRecording() ? span : undefined;
}

async function untilDone<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (span === undefined) return work();
  try {
    return await runInSpan(span, work);
  } catch (error) {
    // The code alone, never the message.
    span.setAttribute('error.type', sqlState(error) ?? outcomeOf(error));
    markFault(span, isFault(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Only a failure on our side is an error of the span; a mistake of the client is in `error.type` alone. */
export function markFault(span: Span, isFault: boolean): void {
  if (isFault && active !== undefined) span.setStatus({ code: active.api.SpanStatusCode.ERROR });
}

const faults: ReadonlySet<Code> = new Set([
  Code.Internal,
  Code.Unknown,
  Code.DataLoss,
  Code.Unavailable,
  Code.DeadlineExceeded,
]);

function isFault(error: unknown): boolean {
  if (error instanceof OAuthError) return error.status >= 500;
  if (error instanceof ConnectError) return faults.has(error.code);
  // A race that was lost is a violated constraint: a result.
  return sqlState(error)?.startsWith('23') !== true;
}
