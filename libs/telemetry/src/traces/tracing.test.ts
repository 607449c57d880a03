import { Code, ConnectError } from '@connectrpc/connect';
import { trace, TraceFlags } from '@opentelemetry/api';
import type { Tracer } from '@opentelemetry/api';
import {
  AlwaysOnSampler,
  NodeTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Secret } from '@tessera/kit';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { registerTraces } from './start-traces.ts';
import { annotate, currentTraceparent, readTraceparent, traced, tracedRoot, traceFields } from './tracing.ts';

function collecting(spans: ReadableSpan[]): SpanProcessor {
  const nothing = async () => undefined;
  return {
    onStart: () => undefined,
    onEnd: (span) => void spans.push(span),
    forceFlush: nothing,
    shutdown: nothing,
  };
}

function record(ratio = 1): ReadableSpan[] {
  const spans: ReadableSpan[] = [];
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  onTestFinished(registerTraces(collecting(spans), { sampler }));
  return spans;
}

const server = { name: 'root', kind: 'server' } as const;
const inner = (name: string) => ({ name, kind: 'internal' }) as const;
const caller = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED };

describe('spans', () => {
  it('have the span as parent in whose course they run, however much runs at once', async () => {
    const spans = record();
    const request = (name: string) =>
      tracedRoot({ ...server, name }, undefined, async () => {
        await sleep(Math.random() * 5);
        await Promise.all(
          ['a', 'b'].map((part) =>
            traced(inner(`${name}.${part}`), async () => {
              await sleep(Math.random() * 5);
              await traced(inner(`${name}.${part}.deep`), () => sleep(1));
            }),
          ),
        );
      });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => request(`request_${String.fromCharCode(97 + index)}`)),
    );
    expect(spans).toHaveLength(100);
    const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
    for (const span of spans) {
      const parent = byId.get(span.parentSpanContext?.spanId ?? '');
      const above = span.name.split('.').slice(0, -1).join('.');
      expect(parent?.name ?? '').toBe(above);
      if (parent !== undefined) expect(parent.spanContext().traceId).toBe(span.spanContext().traceId);
    }
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(20);
  });

  it('are in the trace of the caller, as the caller decided (W3C Trace Context §3.2.2.5.1)', async () => {
    const spans = record(0);
    await tracedRoot(server, caller, () => sleep(0));
    await tracedRoot(server, { ...caller, traceFlags: TraceFlags.NONE }, () =>
      traced(inner('x'), () => sleep(0)),
    );
    expect(spans).toHaveLength(1);
    expect(spans[0]?.parentSpanContext?.spanId).toBe(caller.spanId);
    expect(spans[0]?.spanContext().traceId).toBe(caller.traceId);
  });

  it('are made for all of one request or for nothing of it', async () => {
    const spans = record(0.25);
    for (let time = 0; time < 400; time += 1) {
      await tracedRoot(server, undefined, () => traced(inner('x'), async () => undefined));
    }
    expect(spans.length % 2).toBe(0);
    expect(spans.length).toBeGreaterThan(0);
    expect(spans.length).toBeLessThan(400);
  });

  it('are not made outside of a request, nor for work that goes on after its answer', async () => {
    const spans = record();
    await traced(inner('outside'), () => sleep(0));
    let later: Promise<void> = Promise.resolve();
    await tracedRoot(server, undefined, async () => {
      later = sleep(10).then(() => traced(inner('later'), () => sleep(0)));
    });
    await later;
    expect(spans.map(({ name }) => name)).toEqual(['root']);
  });

  it('are named in log lines, and in the header of a call onward', async () => {
    const spans = record();
    expect([traceFields(), currentTraceparent()]).toEqual([{}, undefined]);
    const seen = await tracedRoot(server, undefined, async () => [traceFields(), currentTraceparent()]);
    const { traceId, spanId } = spans[0]?.spanContext() ?? {};
    expect(seen).toEqual([{ trace_id: traceId, span_id: spanId }, `00-${traceId}-${spanId}-01`]);
    expect(readTraceparent(seen[1])).toMatchObject({ traceId, spanId, traceFlags: 1 });
  });

  it.each([undefined, 'x', [`00-${caller.traceId}-${caller.spanId}-01`], `00-${caller.traceId}-01`])(
    'ignore %o, which is no traceparent',
    (value) => {
      record();
      expect(readTraceparent(value)).toBeUndefined();
    },
  );

  it('cost nothing but a call where traces are off', async () => {
    expect(await traced(inner('off'), async () => 1)).toBe(1);
    expect(await tracedRoot(server, caller, async () => 2)).toBe(2);
    expect(readTraceparent(`00-${caller.traceId}-${caller.spanId}-01`)).toBeUndefined();
  });

  it.each([
    ['a refusal', new OAuthError('invalid_grant', 'No.'), 'invalid_grant', false],
    ['trouble with a store', temporarilyUnavailable(), 'temporarily_unavailable', true],
    ['what is not found', new ConnectError('none', Code.NotFound), 'notfound', false],
    ['a call that failed', new ConnectError('broken', Code.Internal), 'internal', true],
    ['a mistake of ours', new TypeError('x is not a function'), 'internal', true],
    [
      'a race that was lost',
      Object.assign(new Error('duplicate'), { severity: 'ERROR', code: '23505' }),
      '23505',
      false,
    ],
  ])('report %s by its code, and whose fault it is', async (_what, error, code, isFault) => {
    const spans = record();
    await expect(tracedRoot(server, undefined, () => Promise.reject(error))).rejects.toBe(error);
    expect(spans[0]?.attributes['error.type']).toBe(code);
    expect(spans[0]?.status).toEqual({ code: isFault ? 2 : 0 });
  });
});

const canary = 'CANARY0123456789abcdef';

/** Every careless way to put a secret into a span that we know of. */
const careless: readonly (readonly [string, unknown])[] = [
  ['password', canary],
  ['http.request.header.authorization', `Bearer ${canary}`],
  ['url.full', `https://id.example/authorize?state=${canary}`],
  ['http.route', `/token?code=${canary}`],
  ['http.route', `/device/${canary}?x`],
  ['db.query.text', `SELECT '${canary}'`],
  ['db.query.summary', `SELECT '${canary}'`],
  ['db.query.summary', `tc_${canary}`],
  ['db.query.parameter.0', canary],
  ['error.type', `duplicate key (${canary})`],
  ['exception.message', canary],
  ['tessera.request_id', `Bearer ${canary}`],
  ['tessera.request_id', `tr_01JABCDEF.${canary}`],
  ['tessera.request_id', `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.${canary}`],
  ['tessera.request_id', new Secret(canary)],
  ['tessera.grant_type', canary],
  ['tessera.signatures', canary],
  ['http.response.status_code', canary],
  ['rpc.method', { canary }],
  ['__proto__', canary],
  ['constructor', canary],
];

/** Hands every careless value to a span, as attribute, name, event, link and message. */
function traceCarelessly(tracer: Tracer): void {
  for (const [key, value] of careless) {
    const span = tracer.startSpan(String(value), { attributes: { [key]: value as string } });
    span.setAttribute(key, value as string);
    span.addEvent(canary, { [key]: value as string });
    span.addLink({ context: span.spanContext(), attributes: { canary } });
    span.recordException(new Error(`failed with ${canary}`));
    span.setStatus({ code: 2, message: canary });
    span.end();
  }
}

const contentOf = (spans: readonly ReadableSpan[]): string =>
  JSON.stringify(
    spans.map(({ name, attributes, events, links, status }) => [name, attributes, events, links, status]),
  );

describe('the allow-list of attributes', () => {
  it('drops everything that is not on it, so that no secret is exported however carelessly it is handed over', () => {
    const spans = record();
    traceCarelessly(trace.getTracer('test'));
    expect(spans).toHaveLength(careless.length);
    expect(contentOf(spans)).not.toContain(canary.slice(0, 12));
    expect(spans.flatMap(({ events, links }) => [...events, ...links])).toEqual([]);
  });

  it('is what keeps them out: without it the SDK exports them', () => {
    const spans: ReadableSpan[] = [];
    const provider = new NodeTracerProvider({
      sampler: new AlwaysOnSampler(),
      spanProcessors: [collecting(spans)],
    });
    onTestFinished(() => provider.shutdown());
    traceCarelessly(provider.getTracer('test'));
    const leaking = spans.filter((span) => contentOf([span]).includes(canary.slice(0, 12)));
    expect(leaking).toHaveLength(careless.length);
  });

  it('lets every attribute pass that looks as it should', async () => {
    const spans = record();
    const attributes = {
      'http.request.method': 'GET',
      'http.route': '/.well-known/openid-configuration',
      'http.response.status_code': 200,
      'tessera.request_id': '01M7ZS204KZQ09ZHTWRE2PYWJ8',
      'tessera.grant_type': 'device_code',
      'tessera.signatures': 2,
      'rpc.service': 'tessera.authorize.v1.AuthorizeService',
      'rpc.method': 'Begin',
      'rpc.system.name': 'grpc',
      'db.system.name': 'redis',
      'db.query.summary': 'authorize.redeem_code',
      'error.type': 'invalid_request',
    } as const;
    await tracedRoot({ ...server, attributes }, undefined, async () => annotate('tessera.signatures', 3));
    expect(spans[0]?.attributes).toEqual({ ...attributes, 'tessera.signatures': 3 });
  });
});
