import { attempt, leaseSeconds, startWorker, WakeUpSignal } from '@tessera/delivery';
import type { Worker } from '@tessera/delivery';
import type { Message, Send } from '@tessera/outbound';
import type { DirectoryClient } from '@tessera/directory-client';
import { rootCall } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import type { DeviceAudit } from '../audit.ts';
import type { GrantStore } from '../store/grant-store.ts';
import type { PromptMessage } from '../webhook/prompts.ts';
import { callbackOf, type CallbackEncryption } from './callback.ts';
import type { Delivery, DeliveryStore } from './delivery-store.ts';
import type { Decision } from '../pending-grant.ts';

const rules = { delays: [1, 4, 15, 60], mostAttempts: 10 };
const callMs = 3_000;

/** Delivers decisions to clients (CIBA Core §10.2 and §10.3) and prompts to notification systems. */
export interface Deliveries extends Worker {
  /** Notified when there may be a push without its tokens. */
  readonly pushes: WakeUpSignal;
  /** Ends a claimed delivery, with its audit row; `reason` says why it failed. */
  end(delivery: Delivery, reason: string | undefined): Promise<void>;
}

export interface DeliveryDeps {
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
export function startDeliveries(deps: DeliveryDeps): Deliveries {
  const { store, log } = deps;
  const pushes = new WakeUpSignal();
  const end: Deliveries['end'] = async (delivery, reason) => {
    await store.finish(delivery, deps.audit.delivered(delivery, reason));
  };
  const worker = startWorker<Delivery>({
    async claim(limit, skipped) {
      const { due, pushesWait } = await store.claim(limit, leaseSeconds, skipped);
      if (pushesWait) pushes.notify();
      return due;
    },
    deliver: (delivery, closing) => deliverOnce(deps, delivery, closing, end),
    log,
  });
  return { ...worker, pushes, end };
}

async function deliverOnce(
  deps: DeliveryDeps,
  delivery: Delivery,
  closing: AbortSignal,
  end: Deliveries['end'],
): Promise<void> {
  const { store, send, log } = deps;
  if (delivery.userId === '') return void (await store.finish(delivery, undefined));
  const { mode, attempt: number, remainingSeconds } = delivery;
  const messageOf = () => prepare(deps, delivery, closing);
  const done = await attempt({ mode, number, remainingSeconds }, { messageOf, send, rules, log, closing });
  switch (done.next) {
    case 'delivered':
      return end(delivery, undefined);
    case 'failed':
      return giveUp(deps, delivery, done.reason, end);
    case 'retry':
    case 'giveBack':
      return store[done.next](delivery, done.delaySeconds);
  }
}

/** Tokens that were sent without an acknowledgement must be revoked: their holder is unknown. */
async function giveUp(
  { store, audit }: DeliveryDeps,
  delivery: Delivery,
  reason: string,
  end: Deliveries['end'],
): Promise<void> {
  if (delivery.sealedTokens === undefined) return end(delivery, reason);
  await store.withdraw(delivery, audit.delivered(delivery, reason));
}

/**
 * The message, to the address that is registered now, so that a corrected registration takes effect. Or, as a string, the
 * reason why nothing is sent.
 */
async function prepare(
  { directory, encryption, promptMessage, grants, log }: DeliveryDeps,
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
      log.warn({ err: error }, 'cannot update the polled state of a decision'),
    );
  const url = client.application.ciba?.notificationEndpoint ?? '';
  return url === '' ? 'no_endpoint' : { url, ...callback };
}

function decisionOf({ outcome }: Delivery): Decision {
  return outcome === 'denied' ? 'denied' : 'approved';
}
