import { attempt, leaseSeconds, startWorker } from '@tessera/delivery';
import type { Worker } from '@tessera/delivery';
import type { Message, Send } from '@tessera/outbound';
import type { DirectoryClient } from '@tessera/directory-client';
import { rootCall } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import type { DeviceAudit } from '../audit.ts';
import type { GrantStore } from '../store/grant-store.ts';
import type { PromptMessage } from '../webhook/prompts.ts';
import { callbackOf, type CallbackEncryption } from './callback.ts';
import type { Delivery, DeliveryStore } from '../store/delivery-store.ts';
import type { Decision } from '../pending-grant.ts';

const rules = { delays: [1, 4, 15, 60], mostAttempts: 10 };
const callMs = 3_000;

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

/**
 * Delivers pings to clients (CIBA Core §10.2) and prompts to notification systems, from now on. Any number of processes
 * may do so concurrently.
 */
export function startDeliveries(deps: DeliveryDeps): Worker {
  return startWorker<Delivery>({
    claim: (limit, skipped) => deps.store.claim(limit, leaseSeconds, skipped),
    deliver: (delivery, closing) => deliverOnce(deps, delivery, closing),
    log: deps.log,
  });
}

async function deliverOnce(deps: DeliveryDeps, delivery: Delivery, closing: AbortSignal): Promise<void> {
  const { store, send, log } = deps;
  if (delivery.userId === '') return void (await store.finish(delivery, undefined));
  const { mode, attempt: number, remainingSeconds } = delivery;
  const messageOf = () => prepare(deps, delivery, closing);
  const done = await attempt({ mode, number, remainingSeconds }, { messageOf, send, rules, log, closing });
  switch (done.next) {
    case 'delivered':
      return end(deps, delivery);
    case 'failed':
      return end(deps, delivery, done.reason);
    case 'retry':
    case 'giveBack':
      return store[done.next](delivery, done.delaySeconds);
  }
}

/** `reason` says why it failed. */
async function end({ store, audit }: DeliveryDeps, delivery: Delivery, reason?: string): Promise<void> {
  await store.finish(delivery, audit.delivered(delivery, reason));
}

/**
 * The message, to the address that is registered now, so that a corrected registration takes effect. Or, as a string,
 * the reason why nothing is sent.
 */
async function prepare(
  { directory, encryption, promptMessage, grants }: DeliveryDeps,
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
  // The client polls at once and must see the decision, but the deciding process may have died before it updated the
  // store.
  await grants.settle({ kind: 'auth_req_id', hash: delivery.hash }, decisionOf(delivery));
  const url = client.application.ciba?.notificationEndpoint ?? '';
  return url === '' ? 'no_endpoint' : { url, ...callback };
}

function decisionOf({ outcome }: Delivery): Decision {
  return outcome === 'denied' ? 'denied' : 'approved';
}
