import type { Clock } from '@tessera/kit';
import type { Logger } from '@tessera/telemetry';

/** An answer younger than this is not asked for again; it changes with a restart of `device` alone. */
const freshMs = 60_000;
/** How long a failed attempt keeps the next one from waiting for the same trouble. */
const pauseMs = 1_000;

/** How CIBA clients may get their tokens (CIBA Core §5), for the metadata. */
export interface DeliveryModes {
  /** While `device` has never answered, `poll` alone, which is always there: rather too little said than no metadata. */
  current(): Promise<readonly string[]>;
}

export function createDeliveryModes(options: {
  /** Asks `device`, with a deadline. */
  readonly fetch: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Logger;
}): DeliveryModes {
  const { clock } = options;
  let modes: readonly string[] = ['poll'];
  let nextAt = -Infinity;
  let pending: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    try {
      modes = await options.fetch();
      nextAt = clock.now() + freshMs;
    } catch (error) {
      nextAt = clock.now() + pauseMs;
      options.log.warn({ error }, 'the delivery modes of CIBA could not be asked for');
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
