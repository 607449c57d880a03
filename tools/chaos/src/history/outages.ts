import { describe, inDoubt, isGood } from './history-index.ts';
import type { History } from './history.ts';

/** Called so often that a gap is significant. */
export const steady = new Set<string>([
  'authorize',
  'sign-in',
  'redeem',
  'refresh',
  'client-credentials',
  'introspect-refresh',
  'keys',
]);

export interface Outage {
  readonly kind: string;
  readonly ms: number;
}

/** The longest time during which a steady operation succeeded for no client. */
export function longestOutage({ operations }: History): Outage {
  let longest: Outage = { kind: '', ms: 0 };
  for (const kind of steady) {
    let since: number | undefined;
    for (const operation of operations) {
      if (operation.kind !== kind) continue;
      if (inDoubt(operation)) since ??= operation.startedAt;
      else if (isGood(operation) && since !== undefined) {
        const ms = Math.round(operation.endedAt - since);
        if (ms > longest.ms) longest = { kind, ms };
        since = undefined;
      }
    }
  }
  return longest;
}

/** Requests that were sent again, with the outcome that caused it. */
export const retries = ({ operations }: History): string[] => operations.filter(inDoubt).map(describe);
