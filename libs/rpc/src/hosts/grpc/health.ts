import { HealthImplementation } from 'grpc-health-check';
import type { Logger } from 'pino';
import { repeat, within, type Repetition } from '@tessera/kit';
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
  let checks: Repetition | undefined;

  function announce(status: 'SERVING' | 'NOT_SERVING'): void {
    for (const name of names) implementation.setStatus(name, status);
  }

  async function check(): Promise<void> {
    const [checked] = await Promise.allSettled([within(intervalMs, built.ready())]);
    if (stopped) return;
    const ready = checked.status === 'fulfilled';
    if (ready !== serving) {
      serving = ready;
      if (ready) log.info({ name: built.name }, 'serving');
      else log.warn({ name: built.name, err: checked.reason }, 'not serving');
      announce(ready ? 'SERVING' : 'NOT_SERVING');
    }
  }

  return {
    implementation,
    /** Checks now, and again until `stop`; resolves after the first check. */
    async follow(): Promise<void> {
      await check();
      checks = repeat(check, {
        pauseMs: () => (serving ? intervalMs : intervalMs / 5),
        startsWithPause: true,
        // `check` has reported it.
        onError: () => undefined,
      });
    },
    /** Not serving from now on. */
    stop(): void {
      stopped = true;
      void checks?.close();
      announce('NOT_SERVING');
    },
  };
}
