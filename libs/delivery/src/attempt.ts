import { metrics, type Logger } from '@tessera/telemetry';
import type { Message, Sent } from '@tessera/outbound';

/** When a failed delivery is tried again. */
export interface RetryRules {
  /** Pauses before the second and later attempts in seconds; the last one repeats. */
  readonly delays: readonly number[];
  readonly mostAttempts: number;
}

/** Pause after an internal failure, which does not count as an attempt. */
const internalFailurePauseSeconds = 2;

const attempts = metrics.counter({
  name: 'tessera_deliveries_total',
  help: 'Attempts to notify clients, notification systems and people, by mode: ping, prompt, logout or mail.',
  labels: ['mode', 'outcome'],
});

/**
 * What becomes of a delivery after an attempt; `reason`: why it failed. `giveBack`: as `retry`, but it does not count.
 */
export type Attempted =
  | { readonly next: 'delivered' }
  | { readonly next: 'failed'; readonly reason: string }
  | { readonly next: 'retry'; readonly delaySeconds: number; readonly reason: string }
  | { readonly next: 'giveBack'; readonly delaySeconds: number };

type SendMessage<M> = (message: M, closing: AbortSignal) => Promise<Sent>;

/** One attempt to deliver. `messageOf` resolves with the message, or with the reason why nothing is sent. */
export async function attempt<M extends object = Message>(
  {
    mode,
    number,
    remainingSeconds,
  }: {
    readonly mode: string;
    /** 1 for the first attempt. */
    readonly number: number;
    /** Seconds until delivery is abandoned; negative afterwards. */
    readonly remainingSeconds: number;
  },
  {
    messageOf,
    send,
    rules,
    log,
    closing,
  }: {
    readonly messageOf: () => Promise<M | string>;
    readonly send: SendMessage<M>;
    readonly rules: RetryRules;
    readonly log: Logger;
    readonly closing: AbortSignal;
  },
): Promise<Attempted> {
  const sent = await sendOnce({ messageOf, send, log, closing });
  attempts.labels(mode, sent.outcome).inc();
  if (sent.outcome === 'delivered') return { next: 'delivered' };
  if (sent.outcome === 'unavailable') {
    if (remainingSeconds <= internalFailurePauseSeconds) return { next: 'failed', reason: sent.outcome };
    return { next: 'giveBack', delaySeconds: closing.aborted ? 0 : internalFailurePauseSeconds };
  }
  const { reason } = sent;
  // This process is ending: another one repeats the attempt at once.
  if (closing.aborted) return { next: 'retry', delaySeconds: 0, reason };
  const delaySeconds = rules.delays[number - 1] ?? rules.delays.at(-1) ?? 0;
  const isLast = number >= rules.mostAttempts || delaySeconds >= remainingSeconds;
  if (sent.outcome === 'refused' || isLast) return { next: 'failed', reason };
  return { next: 'retry', delaySeconds, reason };
}

/** `unavailable`: an internal failure; the receiver is not at fault. */
async function sendOnce<M extends object>({
  messageOf,
  send,
  log,
  closing,
}: {
  readonly messageOf: () => Promise<M | string>;
  readonly send: SendMessage<M>;
  readonly log: Logger;
  readonly closing: AbortSignal;
}): Promise<Sent | { readonly outcome: 'unavailable' }> {
  let message: M | string;
  try {
    message = await messageOf();
  } catch (error) {
    if (!closing.aborted) log.warn({ err: error }, 'cannot prepare a delivery');
    return { outcome: 'unavailable' };
  }
  if (typeof message === 'string') return { outcome: 'refused', reason: message };
  return send(message, closing);
}
