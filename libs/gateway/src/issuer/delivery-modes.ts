import type { Clock } from '@tessera/kit';
import type { Logger } from '@tessera/telemetry';

/** An answer younger than this is reused; it changes only when `device` restarts. */
const freshMs = 60_000;
/** After a failure the next fetch waits this long. */
const pauseMs = 1_000;

/** How CIBA clients may get their tokens (CIBA Core §5), for the metadata. */
export interface DeliveryModes {
  /**
   * Until `device` has answered once, only `poll`, which is always supported: incomplete metadata is better than none.
   */
  current(): Promise<readonly string[]>;
}

export function createDeliveryModes(deps: {
  /** Asks `device`, with a deadline. */
  readonly fetch: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Logger;
}): DeliveryModes {
  const { clock } = deps;
  let modes: readonly string[] = ['poll'];
  let nextAt = -Infinity;
  let pending: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    try {
      modes = await deps.fetch();
      nextAt = clock.now() + freshMs;
    } catch (error) {
      nextAt = clock.now() + pauseMs;
      deps.log.warn({ err: error }, 'cannot fetch the CIBA delivery modes');
    } finally {
      pending = undefined;
    }
  }

  return {
    async current() {
      if (clock.now() >= nextAt) await (pending ??= refresh());
      return modes;
    },
  };
}
