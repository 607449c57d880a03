import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import { metrics } from './metrics.ts';

const calls = metrics.counter({
  name: 'tessera_calls_total',
  help: 'Calls that services answered, over the wire or in the same process.',
  labels: ['method', 'outcome'],
});
const seconds = metrics.histogram({
  name: 'tessera_call_seconds',
  help: 'How long services took to answer calls.',
  labels: ['method'],
});
const refusals = metrics.counter({
  name: 'tessera_refusals_total',
  help: 'Calls refused for a reason that clients do not see, such as reuse_detected.',
  labels: ['method', 'reason'],
});

/**
 * Starts the refusals of a method for these reasons at 0, where its service is built: an increase shows only from a
 * value that was there before, and refusals that alerts watch are rare.
 */
export function expectRefusals(method: DescMethod, reasons: readonly string[]): void {
  for (const reason of reasons) refusals.labels(methodName(method), reason).inc(0);
}

/** Measures one method; `startedAt` is of `performance.now()`. */
export function measureMethod(described: DescMethod) {
  const method = methodName(described);
  calls.labels(method, 'ok').inc(0);
  seconds.zero({ method });
  const observe = (startedAt: number, outcome: string): void => {
    calls.labels(method, outcome).inc();
    seconds.labels(method).observe((performance.now() - startedAt) / 1000);
  };
  return {
    answered: (startedAt: number): void => observe(startedAt, 'ok'),
    /** Takes the error of the handler while it still has its reason. */
    failed(startedAt: number, error: unknown): void {
      observe(startedAt, outcomeOf(error));
      const reason = reasonOf(error);
      if (reason !== undefined) refusals.labels(method, reason).inc();
    },
  };
}

/** The full name of a method, `<service>/<method>`. */
export function methodName({ parent, name }: Pick<DescMethod, 'parent' | 'name'>): string {
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
