import { HealthImplementation } from 'grpc-health-check';
import type { Logger } from 'pino';
import { within } from '@tessera/kit';
import type { BuiltService } from '../../call.ts';

export type HealthStatus = ReturnType<typeof createHealthStatus>;

/**
 * The status in `grpc.health.v1`, of the whole server (empty name) and of each service, as `built.ready()` says.
 * @param intervalMs milliseconds between two checks while ready; while not ready five times as often
 */
export function createHealthStatus(built: BuiltService, log: Logger, intervalMs: number) {
  const names = ['', ...built.routes.map((route) => route.service.typeName)];
  const implementation = new HealthImplementation(
    Object.fromEntries(names.map((name) => [name, 'NOT_SERVING' as const])),
  );
  let serving = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  function announce(status: 'SERVING' | 'NOT_SERVING'): void {
    for (const name of names) implementation.setStatus(name, status);
  }

  /** Checks now, and again until `stop`. */
  async function follow(): Promise<void> {
    const [checked] = await Promise.allSettled([within(intervalMs, built.ready())]);
    if (stopped) return;
    const ready = checked.status === 'fulfilled';
    if (ready !== serving) {
      serving = ready;
      if (ready) log.info({ name: built.name }, 'serving');
      else log.warn({ name: built.name, err: checked.reason }, 'not serving');
      announce(ready ? 'SERVING' : 'NOT_SERVING');
    }
    timer = setTimeout(() => void follow(), ready ? intervalMs : intervalMs / 5);
    timer.unref();
  }

  return {
    implementation,
    follow,
    /** Not serving from now on. */
    stop(): void {
      stopped = true;
      clearTimeout(timer);
      announce('NOT_SERVING');
    },
  };
}
