import { ParentBasedSampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-node';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { registerTraces } from '@tessera/telemetry/start';
import { onTestFinished } from 'vitest';

/** A span as it would be exported. */
export interface RecordedSpan {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly context: { readonly traceId: string; readonly spanId: string };
  readonly parentSpanId: string | undefined;
  readonly attributes: ReadonlyMap<string, unknown>;
  readonly isFault: boolean;
}

/**
 * Switches traces on until the test ends, for what is built from then on. Every span is in the list once it ended.
 * @param ratio share of the requests that are traced
 */
export async function recordTraces(ratio = 1): Promise<RecordedSpan[]> {
  const spans: RecordedSpan[] = [];
  const stop = registerTraces(
    {
      onStart: () => undefined,
      onEnd: (span) => void spans.push(recorded(span)),
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    },
    { sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }) },
  );
  onTestFinished(stop);
  return spans;
}

const kinds = ['internal', 'server', 'client'] as const;

function recorded(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    name: span.name,
    kind: kinds.at(span.kind) ?? 'internal',
    context: { traceId, spanId },
    parentSpanId: span.parentSpanContext?.spanId,
    attributes: new Map(Object.entries(span.attributes)),
    isFault: span.status.code.valueOf() === 2,
  };
}
