import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { grantTypes } from '@tessera/oauth';
import { cleanText } from '../log/texts.ts';

const route = String.raw`(?:/[\w./*-]{0,80}|\(none\))`;
const service = String.raw`tessera\.[a-z_]{1,30}\.v\d{1,3}\.[A-Za-z]{1,60}`;
const method = '[A-Za-z]{1,60}';
/** Of a statement or script of ours, `<service>.<meaning>`, or a command of Redis. */
const statement = String.raw`[a-z_]{1,30}(?:\.[a-z_\d]{1,60}){0,3}|[A-Z]{2,20}`;

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);

/**
 * All that a span may say in addition to its name and times, and what each may look like. Traces are kept where secrets
 * are not expected: whatever is not on this list, or does not look as it should, is left out.
 */
const allowed = {
  'db.query.summary': whole(statement),
  'db.system.name': /^(postgresql|redis)$/,
  /** Code of the error that was answered or thrown. */
  'error.type': /^(?:[a-z_]{1,40}|[0-9A-Z]{5})$/,
  'http.request.method': /^[A-Z]{3,10}$/,
  'http.response.status_code': 'number',
  /** The path of the route, never the address itself. */
  'http.route': whole(route),
  'rpc.method': whole(method),
  'rpc.service': whole(service),
  'rpc.system.name': /^(grpc|local)$/,
  'tessera.grant_type': whole(grantTypes.map((grant) => grant.name).join('|')),
  'tessera.request_id': /^[\w.-]{1,64}$/,
  'tessera.signatures': 'number',
} as const satisfies Readonly<Record<string, RegExp | 'number'>>;

export type AttributeName = keyof typeof allowed;
export type AttributeValue = string | number;
export type Attributes = Readonly<Partial<Record<AttributeName, AttributeValue>>>;

/** Spans are named by routes, methods, statements and scripts. */
const spanName = whole(`[A-Z]{3,10} ${route}|${service}/${method}|${statement}`);

/** A value fit for a trace; undefined if it is left out. */
function admitAttribute(key: string, value: unknown): AttributeValue | undefined {
  const rule = Object.hasOwn(allowed, key) ? allowed[key as AttributeName] : undefined;
  if (rule === undefined) return undefined;
  if (rule === 'number') return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
  return typeof value === 'string' && rule.test(value) && cleanText(value) === value ? value : undefined;
}

/** The name of a span, or a word in its place for one that may not be said. */
function admitName(value: string): string {
  return spanName.test(value) && cleanText(value) === value ? value : '(unnamed)';
}

/** Passes ended spans on with allow-listed content only: no other attribute, event, link or message. */
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
