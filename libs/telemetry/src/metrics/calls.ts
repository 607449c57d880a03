import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import { durationBuckets, metrics } from './index.ts';

const calls = metrics.counter({
  name: 'tessera_calls_total',
  help: 'Calls that services answered, over the wire or in the same process.',
  labels: ['method', 'outcome'],
});
const seconds = metrics.histogram({
  name: 'tessera_call_seconds',
  help: 'How long services took to answer calls.',
  labels: ['method'],
  buckets: durationBuckets,
});
const refusals = metrics.counter({
  name: 'tessera_refusals_total',
  help: 'Calls that were refused for a reason which clients are not told, such as reuse_detected.',
  labels: ['method', 'reason'],
});

/**
 * Counts refusals of a method for these reasons from 0: an increase is seen only from a value that was there before, and what
 * alerts ask for is rare. To be called where the service is built.
 */
export function expectRefusals(method: DescMethod, reasons: readonly string[]): void {
  for (const reason of reasons) refusals.with(methodName(method), reason);
}

export interface MeasuredMethod {
  answered(startedAt: number): void;
  /** Takes what the handler threw, before the reason is taken off. */
  failed(startedAt: number, error: unknown): void;
}

/** Measures one method; `startedAt` is of `performance.now()`. */
export function measureMethod(described: DescMethod): MeasuredMethod {
  const method = methodName(described);
  const ok = calls.with(method, 'ok');
  const duration = seconds.with(method);
  return {
    answered(startedAt) {
      ok.add();
      duration.observe((performance.now() - startedAt) / 1000);
    },
    failed(startedAt, error) {
      calls.with(method, outcomeOf(error)).add();
      duration.observe((performance.now() - startedAt) / 1000);
      const reason = reasonOf(error);
      if (reason !== undefined) refusals.with(method, reason).add();
    },
  };
}

/** A method as the label names it. */
function methodName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** The code of an error: one of a closed list. */
export function outcomeOf(error: unknown): string {
  if (error instanceof OAuthError) return error.code;
  return error instanceof ConnectError ? Code[error.code].toLowerCase() : 'internal';
}

/** The reason code that a service keeps for the audit trail: one word of a closed list. */
function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof OAuthError) || !(error.cause instanceof Error) || !('reason' in error.cause))
    return undefined;
  const { reason } = error.cause;
  return typeof reason === 'string' && /^[a-z_]{1,40}$/.test(reason) ? reason : undefined;
}
