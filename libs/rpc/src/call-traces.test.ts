import { recordTraces, type RecordedSpan } from '@tessera/test-kit';
import { OAuthError } from '@tessera/oauth';
import { KeysService } from '@tessera/proto-gen/keys';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rootCall } from './call-options.ts';
import { createSubject, signRequest } from './testing/subject.ts';
import { inProcess, overMutualTls, overSharedToken } from './testing/set-ups.ts';
import type { SetUp } from './testing/set-ups.ts';
import { traceOriginOf } from './call-traces.ts';
import { isTracing, traced, tracedRoot } from '@tessera/telemetry';

const shape = (spans: readonly RecordedSpan[]) =>
  spans.map(({ name, kind, parentSpanId }) => ({
    name,
    kind,
    under: spans.find(({ context }) => context.spanId === parentSpanId)?.name,
  }));

const sign = 'tessera.keys.v1.KeysService/Sign';

async function open(setUp: SetUp) {
  const subject = createSubject();
  const reachable = await setUp(subject);
  onTestFinished(() => reachable.close());
  return { subject, keys: reachable.client(KeysService, 'token') };
}

/** The work of one request that was sampled. */
const request = <T>(work: () => Promise<T>): Promise<T> | undefined =>
  isTracing() ? tracedRoot({ name: 'POST /token', kind: 'server' }, undefined, work) : undefined;

describe.each([
  ['in process', inProcess, ['internal']],
  ['with a shared token', overSharedToken, ['server', 'client']],
  ['with mutual TLS', overMutualTls, ['server', 'client']],
] as const)('a call %s', (_way, setUp, kinds) => {
  it('has a span below that of the request, and the handler’s spans are below it', async () => {
    const spans = await recordTraces();
    const { subject, keys } = await open(setUp);
    subject.sign = () => traced({ name: 'sign', kind: 'internal' }, async () => ({ tokens: [] }));
    await request(() => keys.sign(signRequest(), rootCall('request-1')));
    expect(shape(spans)).toEqual([
      { name: 'sign', kind: 'internal', under: sign },
      { name: sign, kind: kinds[0], under: kinds.length === 1 ? 'POST /token' : sign },
      ...(kinds.length === 1 ? [] : [{ name: sign, kind: 'client', under: 'POST /token' }]),
      { name: 'POST /token', kind: 'server', under: undefined },
    ]);
    expect(new Set(spans.map(({ context }) => context.traceId)).size).toBe(1);
    const served = spans.find(({ name, kind }) => name === sign && kind !== 'client');
    expect(served?.attributes.get('tessera.request_id')).toBe('request-1');
  });

  it('that is refused has its code in the span', async () => {
    const spans = await recordTraces();
    const { subject, keys } = await open(setUp);
    subject.sign = () => Promise.reject(new OAuthError('invalid_grant', 'No.'));
    await expect(request(() => keys.sign(signRequest()))).rejects.toThrow();
    expect(spans.map(({ attributes }) => attributes.get('error.type'))).toEqual([
      ...kinds.map(() => 'invalid_grant'),
      'invalid_grant',
    ]);
  });

  it('outside of a request or in an unsampled one has no spans', async () => {
    const spans = await recordTraces(0);
    const { subject, keys } = await open(setUp);
    subject.sign = () => ({ tokens: [] });
    await keys.sign(signRequest());
    await request(() => keys.sign(signRequest()));
    expect(spans).toEqual([]);
  });
});

describe('a call that arrives', () => {
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1, isRemote: true };
  const headers = { traceparent: `00-${parent.traceId}-${parent.spanId}-01` };

  it('joins the trace that its caller names', async () => {
    await recordTraces();
    for (const caller of ['gateway', 'introspector'] as const)
      expect(traceOriginOf('grpc', headers, caller)).toEqual({ system: 'grpc', parent });
  });

  it('starts a trace only if its caller is not one of our processes', async () => {
    await recordTraces();
    expect(traceOriginOf('grpc', {}, 'gateway')).toBeUndefined();
    expect(traceOriginOf('grpc', {}, 'introspector')).toEqual({ system: 'grpc', parent: undefined });
    expect(traceOriginOf('connectrpc', {}, 'operator')).toEqual({
      system: 'connectrpc',
      parent: undefined,
    });
  });

  it('has no trace if traces are off', () => {
    expect(traceOriginOf('grpc', headers, 'introspector')).toBeUndefined();
  });
});
