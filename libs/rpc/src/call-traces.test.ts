import { recordTraces, type RecordedSpan } from '@tessera/test-kit';
import { OAuthError } from '@tessera/oauth';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rootCall } from './call-options.ts';
import { createSubject, writeRequest } from './testing/subject.ts';
import { inProcess, overMutualTls, overSharedToken } from './testing/set-ups.ts';
import type { SetUp } from './testing/set-ups.ts';
import { traceOriginOf } from './call-traces.ts';
import { isTracing, traced, tracedRoot } from '@tessera/telemetry';
import { TrialService } from './testing/trial/trial-services.ts';

const shape = (spans: readonly RecordedSpan[]) =>
  spans.map(({ name, kind, parentSpanId }) => ({
    name,
    kind,
    under: spans.find(({ context }) => context.spanId === parentSpanId)?.name,
  }));

const write = 'tessera.trial.v1.TrialService/Write';

async function open(setUp: SetUp) {
  const subject = createSubject();
  const reachable = await setUp(subject);
  onTestFinished(() => reachable.close());
  return { subject, trial: reachable.client(TrialService, 'token') };
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
    const { subject, trial } = await open(setUp);
    subject.write = () => traced({ name: 'store', kind: 'internal' }, async () => ({ texts: [] }));
    await request(() => trial.write(writeRequest(), rootCall('request-1')));
    expect(shape(spans)).toEqual([
      { name: 'store', kind: 'internal', under: write },
      { name: write, kind: kinds[0], under: kinds.length === 1 ? 'POST /token' : write },
      ...(kinds.length === 1 ? [] : [{ name: write, kind: 'client', under: 'POST /token' }]),
      { name: 'POST /token', kind: 'server', under: undefined },
    ]);
    expect(new Set(spans.map(({ context }) => context.traceId)).size).toBe(1);
    const served = spans.find(({ name, kind }) => name === write && kind !== 'client');
    expect(served?.attributes.get('tessera.request_id')).toBe('request-1');
  });

  it('that is refused has its code in the span', async () => {
    const spans = await recordTraces();
    const { subject, trial } = await open(setUp);
    subject.write = () => Promise.reject(new OAuthError('invalid_grant', 'No.'));
    await expect(request(() => trial.write(writeRequest()))).rejects.toThrow();
    expect(spans.map(({ attributes }) => attributes.get('error.type'))).toEqual([
      ...kinds.map(() => 'invalid_grant'),
      'invalid_grant',
    ]);
  });

  it('outside of a request or in an unsampled one has no spans', async () => {
    const spans = await recordTraces(0);
    const { subject, trial } = await open(setUp);
    subject.write = () => ({ texts: [] });
    await trial.write(writeRequest());
    await request(() => trial.write(writeRequest()));
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
