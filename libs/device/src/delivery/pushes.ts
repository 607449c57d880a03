import { WakeUpSignal } from '@tessera/delivery';
import { Code, ConnectError } from '@tessera/rpc';
import type { CallbackEncryption, TokenResponse } from './callback.ts';
import type { Deliveries } from './deliveries.ts';
import type { Claim, DeliveryStore, TakenPush } from './delivery-store.ts';

/** How long `token` may take to issue the tokens of a push; far longer than any of its calls lasts. */
const leaseSeconds = 15;
const mostAtOnce = 50;
/** Covers a missed wake-up, and shows that the stream is alive. */
const heartbeatMs = 10_000;

/** A push as it is handed to `token`. */
export interface PushTask extends TakenPush {
  readonly authReqId: string;
}

/** Approved requests whose tokens are to be pushed: `token` takes them and reports the result. */
export interface Pushes {
  /** Yields at once, whenever there may be a push, and every ten seconds. */
  watch(signal: AbortSignal): AsyncGenerator<Record<string, never>, void>;
  take(limit: number): Promise<PushTask[]>;
  /** No tokens mean that the transaction failed. Throws NOT_FOUND if another process has taken the push meanwhile. */
  finish(claim: Claim, tokens: TokenResponse | undefined): Promise<void>;
}

export function createPushes({
  store,
  encryption,
  deliveries,
}: {
  readonly store: DeliveryStore;
  readonly encryption: CallbackEncryption;
  readonly deliveries: Deliveries;
}): Pushes {
  return {
    async *watch(signal) {
      const ending = AbortSignal.any([signal, deliveries.closing]);
      while (!ending.aborted) {
        const seen = deliveries.pushes.notifications;
        yield {};
        await deliveries.pushes.wait(seen, heartbeatMs, ending);
      }
    },

    async take(limit) {
      const taken = await store.take(Math.min(limit, mostAtOnce), leaseSeconds);
      const tasks: PushTask[] = [];
      for (const push of taken) {
        const start = encryption.decryptStart(push.requestId, push.sealed);
        if (start === undefined) await deliveries.end(push, 'unreadable');
        else tasks.push({ ...push, authReqId: start.authReqId });
      }
      return tasks;
    },

    async finish(claim, tokens) {
      const sealed = tokens && encryption.encryptTokens(claim.deliveryId, tokens);
      if (!(await store.handOver(claim, sealed))) {
        throw new ConnectError('the push was taken by another process', Code.NotFound);
      }
      deliveries.wake();
    },
  };
}

/** It is never notified. */
const silent = new WakeUpSignal();

/** Used where nothing can be pushed. */
export const noPushes: Pushes = {
  async *watch(signal) {
    while (!signal.aborted) {
      yield {};
      await silent.wait(0, heartbeatMs, signal);
    }
  },
  take: () => Promise.resolve([]),
  finish: () => Promise.reject(new ConnectError('push delivery is not available', Code.NotFound)),
};
