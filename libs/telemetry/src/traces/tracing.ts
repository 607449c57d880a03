import type { AttributeName, AttributeValue } from './attributes.ts';
import type { Span, SpanOptions } from './span.ts';
import type { TraceContext } from './trace-context.ts';
import type { TracerOptions } from './tracer.ts';

export interface Tracer {
  /** The span in whose course the caller runs; undefined outside of one, and in a request that is not sampled. */
  current(): Span | undefined;
  /** Begins the span of what enters the system here, under `parent` if there is one; undefined if it is not sampled. */
  root(options: SpanOptions, parent: TraceContext | undefined): Span | undefined;
  /** Runs work, and all that it starts, in the course of a span. */
  run<T>(span: Span, work: () => T): T;
  end(span: Span): void;
  /** Runs work in a span that ends with it. */
  inRoot<T>(options: SpanOptions, parent: TraceContext | undefined, work: () => Promise<T>): Promise<T>;
  /** Runs work in a span under the current one, if there is one. */
  inChild<T>(options: SpanOptions, work: () => Promise<T>): Promise<T>;
}

/** There is one per process, like the registry of the metrics; undefined where traces are off, which is the default. */
let active: Tracer | undefined;

/** Makes a tracer, and loads what it is made of: a process without traces does not carry that. */
export async function openTracer(options: TracerOptions): Promise<Tracer> {
  const { createTracer } = await import('./tracer.ts');
  return createTracer(options);
}

/** Services are wired to the tracer that is there when they are built: without one, nothing of this is on their path. */
export function activeTracer(): Tracer | undefined {
  return active;
}

/** Returns how to switch it off again. */
export function activateTracer(tracer: Tracer): () => void {
  active = tracer;
  return () => {
    active = undefined;
  };
}

/** Runs work in a span of its own under the current one; without traces it just runs. */
export function traced<T>(options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return active === undefined ? work() : active.inChild(options, work);
}

/** Says something of the current span. */
export function annotate(name: AttributeName, value: AttributeValue): void {
  active?.current()?.set(name, value);
}

/** What a line of the log says of the span it is written in, in the names that OpenTelemetry has for it. */
export function traceFields(): object {
  const span = active?.current();
  return span === undefined ? {} : traceFieldsOf(span);
}

export function traceFieldsOf({ context }: Span): object {
  return { trace_id: context.traceId, span_id: context.spanId };
}
