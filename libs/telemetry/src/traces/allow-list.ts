import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { admitAttribute, admitName } from './attributes.ts';

/** Hands ended spans on with nothing in them but what is on the list: no other attribute, event, link or message. */
export function createAllowList(next: SpanProcessor): SpanProcessor {
  return {
    onStart: (span, parent) => next.onStart(span, parent),
    onEnd: (span) => next.onEnd(allowedPart(span)),
    forceFlush: () => next.forceFlush(),
    shutdown: () => next.shutdown(),
  };
}

function allowedPart(span: ReadableSpan): ReadableSpan {
  const { kind, parentSpanContext, startTime, endTime, duration, ended, resource, instrumentationScope } =
    span;
  const { traceId, spanId, traceFlags } = span.spanContext();
  const attributes = Object.entries(span.attributes).flatMap(([name, value]) => {
    const admitted = admitAttribute(name, value);
    return admitted === undefined ? [] : [[name, admitted] as const];
  });
  return {
    name: admitName(span.name),
    kind,
    spanContext: () => ({ traceId, spanId, traceFlags }),
    ...(parentSpanContext === undefined ? {} : { parentSpanContext }),
    startTime,
    endTime,
    duration,
    ended,
    status: { code: span.status.code },
    attributes: Object.fromEntries(attributes),
    links: [],
    events: [],
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}
