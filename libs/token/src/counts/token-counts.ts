import { repeat, type Clock } from '@tessera/kit';
import type { Logger } from 'pino';

/** What a tenant was answered in an hour. */
export interface TokenCount {
  readonly tenantId: string;
  /** When the hour begins, in milliseconds. */
  readonly hour: number;
  readonly issued: number;
  readonly refused: number;
}

export interface TokenCounts {
  /** Never throws and never waits. */
  add(tenantId: string, outcome: 'issued' | 'refused'): void;
  /** Writes what is left. */
  close(): Promise<void>;
}

export interface TokenCountsDeps {
  /** Adds counts to those that are known. */
  readonly write: (counts: readonly TokenCount[]) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pauseMs?: number;
}

export const hourMs = 3_600_000;
const usualPauseMs = 5_000;
/** Hours of tenants that wait for a database which is away; what comes above is not counted. */
const mostWaiting = 100_000;

/**
 * Counts token requests in memory and writes them now and again, so that no token waits for it. A process that is
 * killed loses what it counted in the last seconds.
 */
export function countTokenRequests({
  write,
  clock,
  log,
  pauseMs = usualPauseMs,
}: TokenCountsDeps): TokenCounts {
  let waiting = new Map<string, { tenantId: string; hour: number; issued: number; refused: number }>();

  function note(tenantId: string, hour: number, issued: number, refused: number): void {
    const key = `${hour} ${tenantId}`;
    const known = waiting.get(key);
    if (known !== undefined) {
      known.issued += issued;
      known.refused += refused;
    } else if (waiting.size < mostWaiting) waiting.set(key, { tenantId, hour, issued, refused });
  }

  async function flush(): Promise<void> {
    if (waiting.size === 0) return;
    const counted = [...waiting.values()];
    waiting = new Map();
    try {
      await write(counted);
    } catch (error) {
      for (const { tenantId, hour, issued, refused } of counted) note(tenantId, hour, issued, refused);
      throw error;
    }
  }

  const writing = repeat(flush, {
    pauseMs,
    startsWithPause: true,
    onError: (error) => log.warn({ err: error }, 'cannot write how many tokens were issued'),
  });
  return {
    add(tenantId, outcome) {
      const hour = Math.floor(clock.now() / hourMs) * hourMs;
      note(tenantId, hour, outcome === 'issued' ? 1 : 0, outcome === 'refused' ? 1 : 0);
    },
    async close() {
      await writing.close();
      await flush().catch((error: unknown) => {
        log.warn({ err: error }, 'the last token requests were not counted');
      });
    },
  };
}
