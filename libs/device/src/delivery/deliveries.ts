import type { DirectoryClient } from '@tessera/directory-client';
import { metrics } from '@tessera/telemetry';
import { rootCall } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import type { DeviceAudit } from '../audit.ts';
import type { Message, Send, Sent } from '../webhook/send.ts';
import type { GrantStore } from '../store/grant-store.ts';
import { WakeUpSignal } from './wake-up.ts';
import type { PromptMessage } from '../webhook/prompts.ts';
import { callbackOf, type CallbackEncryption } from './callback.ts';
import type { Delivery, DeliveryStore } from './delivery-store.ts';
import type { Decision } from '../grant.ts';

/** Pauses before the second and later attempts; the last one repeats. */
const retryDelaysSeconds = [1, 4, 15, 60];
const mostAttempts = 10;
/** Pause after an internal failure, which does not count as an attempt. */
const internalFailurePauseSeconds = 2;
/** An attempt takes at most 5 s; if its process dies, another one continues after this time. */
const leaseSeconds = 15;
/** Concurrent deliveries of one process. */
const mostAtOnce = 200;
/**
 * Concurrent deliveries of one application, so that a receiver that does not answer cannot delay the deliveries of others.
 * The same number bounds one claim, so an application never has twice as many.
 */
const mostOfOne = 20;
/**
 * How often pending deliveries are read without a wake-up: those of other processes, of processes that died, and retries.
 * It is one statement on an index that is empty while nothing is pending.
 */
const pollMs = 1_000;
const callMs = 3_000;

const attempts = metrics.counter({
  name: 'tessera_deliveries_total',
  help: 'Attempts to notify clients and notification systems, by mode: ping, push or prompt.',
  labels: ['mode', 'outcome'],
});

/** Delivers decisions to clients (CIBA Core §10.2 and §10.3) and prompts to notification systems. */
export interface Deliveries {
  /** To be called when there may be a delivery, or a push without its tokens. */
  wake(): void;
  /** Notified when there may be a push without its tokens. */
  readonly pushes: WakeUpSignal;
  /** Ends a claimed delivery, with its audit row; `reason` says why it failed. */
  end(delivery: Delivery, reason: string | undefined): Promise<void>;
  /** Aborted when this process stops delivering. */
  readonly closing: AbortSignal;
  /** Leaves unfinished deliveries to other processes. */
  close(): Promise<void>;
}

export interface DeliveryParts {
  readonly store: DeliveryStore;
  readonly encryption: CallbackEncryption;
  readonly promptMessage: PromptMessage;
  readonly grants: Pick<GrantStore, 'settle'>;
  readonly send: Send;
  readonly directory: Pick<DirectoryClient, 'application' | 'isActive'>;
  readonly audit: Pick<DeviceAudit, 'delivered'>;
  readonly log: Logger;
}

/** Starts delivering at once. Any number of processes may do so concurrently. */
export function startDeliveries(parts: DeliveryParts): Deliveries {
  const { store, log } = parts;
  const closing = new AbortController();
  const wakeUp = new WakeUpSignal();
  const pushes = new WakeUpSignal();
  const underWay = new Set<Promise<void>>();
  const ofClients = new Map<string, number>();

  const end: Deliveries['end'] = async (delivery, reason) => {
    await store.finish(delivery, parts.audit.delivered(delivery, reason));
  };

  function startDelivery(delivery: Delivery): void {
    const { clientId } = delivery;
    ofClients.set(clientId, (ofClients.get(clientId) ?? 0) + 1);
    const delivering = deliverOnce(parts, delivery, closing.signal, end)
      .catch((error: unknown) =>
        log.warn({ error }, 'cannot record the result of a delivery; it is repeated'),
      )
      .finally(() => {
        underWay.delete(delivering);
        const left = (ofClients.get(clientId) ?? 1) - 1;
        if (left === 0) ofClients.delete(clientId);
        else ofClients.set(clientId, left);
        if (underWay.size === mostAtOnce - 1 || left === mostOfOne - 1) wakeUp.notify();
      });
    underWay.add(delivering);
  }

  async function claimDue(): Promise<void> {
    for (;;) {
      const limit = Math.min(mostAtOnce - underWay.size, mostOfOne);
      if (limit === 0) return;
      const busy = [...ofClients].filter(([, count]) => count >= mostOfOne).map(([clientId]) => clientId);
      const { due, pushesWait } = await store.claim(limit, leaseSeconds, busy);
      due.forEach(startDelivery);
      if (pushesWait) pushes.notify();
      if (due.length < limit || closing.signal.aborted) return;
    }
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!closing.signal.aborted) {
      const seen = wakeUp.notifications;
      try {
        await claimDue();
        failures = 0;
      } catch (error) {
        if (failures === 0) log.warn({ error }, 'cannot read pending deliveries');
        failures += 1;
      }
      await wakeUp.wait(seen, pollMs, closing.signal);
    }
  }

  const running = run();
  return {
    pushes,
    closing: closing.signal,
    end,
    wake: () => wakeUp.notify(),
    async close() {
      closing.abort();
      await running;
      await Promise.all(underWay);
    },
  };
}

async function deliverOnce(
  parts: DeliveryParts,
  delivery: Delivery,
  signal: AbortSignal,
  end: Deliveries['end'],
): Promise<void> {
  if (delivery.userId === '') return void (await parts.store.finish(delivery, undefined));
  const sent = await send(parts, delivery, signal);
  attempts.labels(delivery.mode, sent.outcome).inc();
  if (sent.outcome === 'delivered') return end(delivery, undefined);
  if (sent.outcome === 'unavailable') {
    if (delivery.remainingSeconds <= internalFailurePauseSeconds)
      return giveUp(parts, delivery, sent.outcome, end);
    return parts.store.giveBack(delivery, signal.aborted ? 0 : internalFailurePauseSeconds);
  }
  const delay = retryDelaysSeconds[delivery.attempt - 1] ?? retryDelaysSeconds.at(-1) ?? 0;
  const isLast = delivery.attempt >= mostAttempts || delay >= delivery.remainingSeconds;
  // This process is ending: another one repeats the attempt at once.
  if (signal.aborted) return parts.store.retry(delivery, 0);
  if (sent.outcome === 'refused' || isLast) return giveUp(parts, delivery, sent.reason, end);
  return parts.store.retry(delivery, delay);
}

/** Tokens that were sent without an acknowledgement must be revoked: nobody knows who has them. */
async function giveUp(
  { store, audit }: DeliveryParts,
  delivery: Delivery,
  reason: string,
  end: Deliveries['end'],
): Promise<void> {
  if (delivery.sealedTokens === undefined) return end(delivery, reason);
  await store.withdraw(delivery, audit.delivered(delivery, reason));
}

/** `unavailable`: an internal failure; the receiver is not at fault. */
async function send(
  parts: DeliveryParts,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Sent | { readonly outcome: 'unavailable' }> {
  let message: Message | string;
  try {
    message = await messageOf(parts, delivery, signal);
  } catch (error) {
    if (!signal.aborted) parts.log.warn({ error }, 'cannot prepare a delivery');
    return { outcome: 'unavailable' };
  }
  if (typeof message === 'string') return { outcome: 'refused', reason: message };
  return parts.send(message, signal);
}

/**
 * The message, to the address that is registered now, so that a corrected registration takes effect. Or, as a string, the
 * reason why nothing is sent.
 */
async function messageOf(
  { directory, encryption, promptMessage, grants, log }: DeliveryParts,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Message | string> {
  const call = () => rootCall(delivery.trail.requestId, callMs, signal);
  const client = await directory.application(delivery.clientId, call());
  if (client?.tenant.tenantId !== delivery.tenantId || !directory.isActive(client)) {
    return 'application_inactive';
  }
  if (delivery.mode === 'prompt') return promptMessage(delivery, client.application, call);
  const callback = callbackOf(delivery, encryption);
  if (callback === undefined) return 'unreadable';
  // The deciding process may have died before it updated the store.
  const settled = grants.settle({ kind: 'auth_req_id', hash: delivery.hash }, decisionOf(delivery));
  // A pinged client polls at once, so it must see the decision. A push does not depend on the polled state.
  if (delivery.mode === 'ping') await settled;
  else
    await settled.catch((error: unknown) =>
      log.warn({ error }, 'cannot update the polled state of a decision'),
    );
  const url = client.application.ciba?.notificationEndpoint ?? '';
  return url === '' ? 'no_endpoint' : { url, ...callback };
}

function decisionOf({ outcome }: Delivery): Decision {
  return outcome === 'denied' ? 'denied' : 'approved';
}
