import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Span, SpanContext, Tracer } from '@opentelemetry/api';
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

const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT };

/** Header and metadata key (W3C Trace Context §3.2). */
export const traceparentKey = 'traceparent';

/** The tracer of this process; undefined where traces are off, which is the default. */
let active: Tracer | undefined;

/** Whether traces are on. Services ask when they are built: without traces, nothing of them is on their path. */
export function isTracing(): boolean {
  return active !== undefined;
}

/** @returns a function that switches traces off again */
export function activateTracer(tracer: Tracer): () => void {
  active = tracer;
  return () => {
    active = undefined;
  };
}

/**
 * Starts the span of a request that enters the system here, under `parent` if there is one; undefined if it is not
 * sampled.
 */
export function startRootSpan(options: SpanOptions, parent: SpanContext | undefined): Span | undefined {
  return start(options, parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent));
}

/** Runs work, and everything that it starts, within a span. */
export function runInSpan<T>(span: Span, work: () => T): T {
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
  return currentSpan() === undefined ? work() : untilDone(start(options, context.active()), work);
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
  if (typeof value !== 'string') return undefined;
  return trace.getSpanContext(propagation.extract(ROOT_CONTEXT, { [traceparentKey]: value }));
}

/** The current span as a `traceparent`; undefined without one. */
export function currentTraceparent(): string | undefined {
  if (currentSpan() === undefined) return undefined;
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier[traceparentKey];
}

/** Work that goes on after its request was answered, such as writing gathered rows, is in no span. */
function currentSpan(): Span | undefined {
  const span = active === undefined ? undefined : trace.getActiveSpan();
  return span?.isRecording() === true ? span : undefined;
}

function start({ name, kind, attributes = {} }: SpanOptions, parent: typeof ROOT_CONTEXT): Span | undefined {
  const span = active?.startSpan(name, { kind: kinds[kind], attributes }, parent);
  return span?.isRecording() === true ? span : undefined;
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
  if (isFault) span.setStatus({ code: SpanStatusCode.ERROR });
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
