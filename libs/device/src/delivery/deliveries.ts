import type { DirectoryClient } from '@tessera/directory-client';
import { metrics } from '@tessera/telemetry';
import { rootCall } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import type { DeviceAudit } from '../audit.ts';
import type { Message, Send, Sent } from '../webhook/send.ts';
import type { Decision, GrantStore } from '../store/store.ts';
import { Bell } from './wake-up.ts';
import type { PromptMessage } from '../webhook/prompts.ts';
import { callbackOf, type CallbackSeal } from './callback.ts';
import type { Delivery, DeliveryStore } from './store.ts';

/** Before the second attempt and so on; the last pause comes again. */
const retryDelaysSeconds = [1, 4, 15, 60];
const mostAttempts = 10;
/** After what a store or service of ours kept from being attempted. It counts as no attempt. */
const ownTroublePauseSeconds = 2;
/** One attempt takes 5 s at most; a process that dies in it is followed by another after this. */
const leaseSeconds = 15;
/** Deliveries under way at a time in one process. */
const mostAtOnce = 200;
/**
 * An application that has so many of them under way gets no more, so that receivers which do not answer hold up nobody else's
 * deliveries. As many are claimed at a time, so it never has twice as many.
 */
const mostOfOne = 20;
/**
 * How often deliveries are looked for that no decision of this process announced: others', those of processes that died,
 * and those whose pause is over. One look is one statement on an index that is empty while nothing waits.
 */
const lookMs = 1_000;
const callMs = 3_000;

const attempts = metrics.counter({
  name: 'tessera_deliveries_total',
  help: 'Attempts to tell systems of others, by what they are told: ping, push or prompt.',
  labels: ['mode', 'outcome'],
});

/** Tells clients what was decided (CIBA Core §10.2 and §10.3), and notification systems what waits. */
export interface Deliveries {
  /** There may be something to deliver, or a push that waits for its tokens. */
  wake(): void;
  /** Rings when pushes may wait for their tokens. */
  readonly pushes: Bell;
  /** Ends a claimed delivery, with its audit row; `reason` says why the client was not told. */
  end(delivery: Delivery, reason: string | undefined): Promise<void>;
  /** Aborted when nothing more is delivered here. */
  readonly closing: AbortSignal;
  /** Leaves what is under way to other processes. */
  close(): Promise<void>;
}

export interface DeliveryParts {
  readonly store: DeliveryStore;
  readonly seal: CallbackSeal;
  readonly promptMessage: PromptMessage;
  readonly grants: Pick<GrantStore, 'settle'>;
  readonly send: Send;
  readonly records: Pick<DirectoryClient, 'application' | 'isActive'>;
  readonly audit: Pick<DeviceAudit, 'delivered'>;
  readonly log: Logger;
}

/** Begins to look for deliveries at once. Any number of processes may do so side by side. */
export function startDeliveries(parts: DeliveryParts): Deliveries {
  const { store, log } = parts;
  const closing = new AbortController();
  const bell = new Bell();
  const pushes = new Bell();
  const underWay = new Set<Promise<void>>();
  const ofClients = new Map<string, number>();

  const end: Deliveries['end'] = async (delivery, reason) => {
    await store.finish(delivery, parts.audit.delivered(delivery, reason));
  };

  function begin(delivery: Delivery): void {
    const { clientId } = delivery;
    ofClients.set(clientId, (ofClients.get(clientId) ?? 0) + 1);
    const delivering = attempt(parts, delivery, closing.signal, end)
      .catch((error: unknown) => log.warn({ error }, 'a delivery was not settled; it is tried again'))
      .finally(() => {
        underWay.delete(delivering);
        const left = (ofClients.get(clientId) ?? 1) - 1;
        if (left === 0) ofClients.delete(clientId);
        else ofClients.set(clientId, left);
        if (underWay.size === mostAtOnce - 1 || left === mostOfOne - 1) bell.ring();
      });
    underWay.add(delivering);
  }

  async function look(): Promise<void> {
    for (;;) {
      const limit = Math.min(mostAtOnce - underWay.size, mostOfOne);
      if (limit === 0) return;
      const busy = [...ofClients].filter(([, count]) => count >= mostOfOne).map(([clientId]) => clientId);
      const { due, pushesWait } = await store.claim(limit, leaseSeconds, busy);
      due.forEach(begin);
      if (pushesWait) pushes.ring();
      if (due.length < limit || closing.signal.aborted) return;
    }
  }

  async function repeat(): Promise<void> {
    let failures = 0;
    while (!closing.signal.aborted) {
      const heard = bell.rings;
      try {
        await look();
        failures = 0;
      } catch (error) {
        if (failures === 0) log.warn({ error }, 'deliveries cannot be looked for');
        failures += 1;
      }
      await bell.wait(heard, lookMs, closing.signal);
    }
  }

  const repeating = repeat();
  return {
    pushes,
    closing: closing.signal,
    end,
    wake: () => bell.ring(),
    async close() {
      closing.abort();
      await repeating;
      await Promise.all(underWay);
    },
  };
}

async function attempt(
  parts: DeliveryParts,
  delivery: Delivery,
  signal: AbortSignal,
  end: Deliveries['end'],
): Promise<void> {
  if (delivery.userId === '') return void (await parts.store.finish(delivery, undefined));
  const sent = await deliver(parts, delivery, signal);
  attempts.with(delivery.mode, sent.outcome).add();
  if (sent.outcome === 'delivered') return end(delivery, undefined);
  if (sent.outcome === 'unavailable') {
    if (delivery.remainingSeconds <= ownTroublePauseSeconds)
      return giveUp(parts, delivery, sent.outcome, end);
    return parts.store.giveBack(delivery, signal.aborted ? 0 : ownTroublePauseSeconds);
  }
  const delay = retryDelaysSeconds[delivery.attempt - 1] ?? retryDelaysSeconds.at(-1) ?? 0;
  const isLast = delivery.attempt >= mostAttempts || delay >= delivery.remainingSeconds;
  // A process that ends has not tried in earnest: another one goes on at once.
  if (signal.aborted) return parts.store.retry(delivery, 0);
  if (sent.outcome === 'refused' || isLast) return giveUp(parts, delivery, sent.reason, end);
  return parts.store.retry(delivery, delay);
}

/** Tokens that were sent and not taken must not stay alive: nobody says who has them now. */
async function giveUp(
  { store, audit }: DeliveryParts,
  delivery: Delivery,
  reason: string,
  end: Deliveries['end'],
): Promise<void> {
  if (delivery.sealedTokens === undefined) return end(delivery, reason);
  await store.withdraw(delivery, audit.delivered(delivery, reason));
}

/** `unavailable`: it could not be attempted, and its receiver is not to blame. */
async function deliver(
  parts: DeliveryParts,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Sent | { readonly outcome: 'unavailable' }> {
  let message: Message | string;
  try {
    message = await messageOf(parts, delivery, signal);
  } catch (error) {
    if (!signal.aborted) parts.log.warn({ error }, 'what is to be delivered could not be looked up');
    return { outcome: 'unavailable' };
  }
  if (typeof message === 'string') return { outcome: 'refused', reason: message };
  return parts.send(message, signal);
}

/**
 * What is sent, to the address the application has now: what was registered by mistake is not called once it was corrected.
 * Or why nothing is.
 */
async function messageOf(
  { records, seal, promptMessage, grants, log }: DeliveryParts,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Message | string> {
  const call = () => rootCall(delivery.trail.requestId, callMs, signal);
  const client = await records.application(delivery.clientId, call());
  if (client?.tenant.tenantId !== delivery.tenantId || !records.isActive(client)) {
    return 'application_inactive';
  }
  if (delivery.mode === 'prompt') return promptMessage(delivery, client.application, call);
  const callback = callbackOf(delivery, seal);
  if (callback === undefined) return 'unreadable';
  // Whoever decided may have died before it could say so.
  const settled = grants.settle({ kind: 'auth_req_id', hash: delivery.hash }, decisionOf(delivery));
  // Who is pinged asks at once. Who is pushed the outcome asks nothing: it does not wait for what polls read.
  if (delivery.mode === 'ping') await settled;
  else await settled.catch((error: unknown) => log.warn({ error }, 'a decision could not be told to polls'));
  const url = client.application.ciba?.notificationEndpoint ?? '';
  return url === '' ? 'no_endpoint' : { url, ...callback };
}

function decisionOf({ outcome }: Delivery): Decision {
  return outcome === 'denied' ? 'denied' : 'approved';
}
