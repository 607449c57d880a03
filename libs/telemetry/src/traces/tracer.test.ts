import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemRandom, Secret } from '@tessera/kit';
import type { AttributeName } from './attributes.ts';
import type { EndedSpan } from './span.ts';
import { createTracer } from './tracer.ts';

function setUp(ratio = 1) {
  const spans: EndedSpan[] = [];
  const tracer = createTracer({ ratio, random: systemRandom, export: (span) => void spans.push(span) });
  return { spans, tracer, named: (name: string) => spans.find((span) => span.name === name) };
}

const server = { name: 'root', kind: 'server' } as const;
const inner = (name: string) => ({ name, kind: 'internal' }) as const;
const caller = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true };

describe('spans', () => {
  it('hang under the one in whose course they run, however much runs at once', async () => {
    const { tracer, spans } = setUp();
    const request = (name: string) =>
      tracer.inRoot({ ...server, name }, undefined, async () => {
        await sleep(Math.random() * 5);
        await Promise.all(
          ['a', 'b'].map((part) =>
            tracer.inChild(inner(`${name}.${part}`), async () => {
              await sleep(Math.random() * 5);
              await tracer.inChild(inner(`${name}.${part}.deep`), () => sleep(1));
            }),
          ),
        );
      });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => request(`request_${String.fromCharCode(97 + index)}`)),
    );
    expect(spans).toHaveLength(100);
    const byId = new Map(spans.map((span) => [span.context.spanId, span]));
    for (const span of spans) {
      const parent = byId.get(span.parentSpanId ?? '');
      const above = span.name.split('.').slice(0, -1).join('.');
      expect(parent?.name ?? '').toBe(above);
      expect(parent?.context.traceId ?? span.context.traceId).toBe(span.context.traceId);
      if (parent !== undefined) expect(span.startMs).toBeGreaterThanOrEqual(parent.startMs);
      if (parent !== undefined) expect(span.endMs).toBeLessThanOrEqual(parent.endMs);
    }
    expect(new Set(spans.map(({ context }) => context.traceId)).size).toBe(20);
  });

  it('are in the trace of the caller, as the caller decided (W3C Trace Context §3.2.2.5.1)', async () => {
    const { tracer, spans } = setUp(0);
    await tracer.inRoot(server, caller, () => sleep(0));
    await tracer.inRoot(server, { ...caller, sampled: false }, () =>
      tracer.inChild(inner('x'), () => sleep(0)),
    );
    expect(spans).toHaveLength(1);
    expect(spans[0]).toMatchObject({ parentSpanId: caller.spanId, context: { traceId: caller.traceId } });
  });

  it('are made for the share of requests that is asked for, and for all of one request or none', async () => {
    const { tracer, spans } = setUp(0.25);
    for (let time = 0; time < 2000; time += 1) {
      await tracer.inRoot(server, undefined, () => tracer.inChild(inner('x'), async () => undefined));
    }
    expect(spans.length % 2).toBe(0);
    expect(spans.length / 4000).toBeGreaterThan(0.2);
    expect(spans.length / 4000).toBeLessThan(0.3);
  });

  it('are not made outside of a request, nor for what goes on after its answer', async () => {
    const { tracer, spans } = setUp();
    await tracer.inChild(inner('outside'), () => sleep(0));
    let later: Promise<void> = Promise.resolve();
    await tracer.inRoot(server, undefined, async () => {
      later = sleep(10).then(() => tracer.inChild(inner('later'), () => sleep(0)));
    });
    await later;
    expect(spans.map(({ name }) => name)).toEqual(['root']);
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
  ])('tell %s by its code, and whose fault it is', async (_what, error, code, isFault) => {
    const { tracer, spans } = setUp();
    await expect(tracer.inRoot(server, undefined, () => Promise.reject(error))).rejects.toBe(error);
    expect([spans[0]?.attributes.get('error.type'), spans[0]?.isFault]).toEqual([code, isFault]);
  });
});

const canary = 'CANARY0123456789abcdef';

/** Every careless way to tell a span a secret that we know of. */
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

describe('what a span may say', () => {
  it('is on a list, so that no secret gets into a trace however carelessly it is handed over', async () => {
    const { tracer, spans } = setUp();
    for (const [key, value] of careless) {
      const attributes = { [key]: value } as never;
      await tracer
        .inRoot({ name: String(value), kind: 'client', attributes }, undefined, async () => {
          tracer.current()?.set(key as AttributeName, value as string);
          throw new Error(`failed with ${canary}`);
        })
        .catch(() => undefined);
    }
    expect(spans).toHaveLength(careless.length);
    const said = spans.map(({ name, attributes }) => [name, ...attributes]);
    expect(JSON.stringify(said)).not.toContain(canary.slice(0, 12));
  });

  it('is kept where it is what it should be', async () => {
    const { tracer, spans } = setUp();
    const attributes = {
      'http.request.method': 'GET',
      'http.route': '/.well-known/openid-configuration',
      'http.response.status_code': 200,
      'tessera.request_id': '01M7ZS204KZQ09ZHTWRE2PYWJ8',
      'tessera.grant_type': 'device_code',
      'tessera.signatures': 2,
      'rpc.service': 'tessera.authorize.v1.AuthorizeService',
      'rpc.method': 'BeginAuthorization',
      'rpc.system.name': 'grpc',
      'db.system.name': 'redis',
      'db.query.summary': 'authorize.redeem_code',
      'error.type': 'invalid_request',
    } as const;
    await tracer.inRoot({ ...server, attributes }, undefined, () => sleep(0));
    expect(Object.fromEntries(spans[0]?.attributes ?? [])).toEqual(attributes);
  });
});
