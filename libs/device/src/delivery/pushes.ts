import { Code, ConnectError } from '@tessera/rpc';
import { Bell } from './wake-up.ts';
import type { CallbackSeal, TokenAnswer } from './callback.ts';
import type { Deliveries } from './deliveries.ts';
import type { Claim, DeliveryStore, TakenPush } from './store.ts';

/** How long `token` has to issue what it took; far longer than any of its calls may last. */
const leaseSeconds = 15;
const mostAtOnce = 50;
/** The net under the bell, and a sign that the stream is alive. */
const heartbeatMs = 10_000;

/** A push as `token` gets it. */
export interface HandedOut extends TakenPush {
  readonly authReqId: string;
}

/** Approved requests whose tokens are to be pushed: `token` takes them and says what became of them. */
export interface Pushes {
  /** Speaks at once, whenever a push may wait, and every ten seconds. */
  watch(signal: AbortSignal): AsyncGenerator<Record<string, never>, void>;
  take(limit: number): Promise<HandedOut[]>;
  /** Without tokens the transaction failed. Throws NOT_FOUND when another process has taken the push meanwhile. */
  finish(claim: Claim, tokens: TokenAnswer | undefined): Promise<void>;
}

export function createPushes({
  store,
  seal,
  deliveries,
}: {
  readonly store: DeliveryStore;
  readonly seal: CallbackSeal;
  readonly deliveries: Deliveries;
}): Pushes {
  return {
    async *watch(signal) {
      const ending = AbortSignal.any([signal, deliveries.closing]);
      while (!ending.aborted) {
        const heard = deliveries.pushes.rings;
        yield {};
        await deliveries.pushes.wait(heard, heartbeatMs, ending);
      }
    },

    async take(limit) {
      const taken = await store.take(Math.min(limit, mostAtOnce), leaseSeconds);
      const handedOut: HandedOut[] = [];
      for (const push of taken) {
        const start = seal.openStart(push.requestId, push.sealed);
        if (start === undefined) await deliveries.end(push, 'unreadable');
        else handedOut.push({ ...push, authReqId: start.authReqId });
      }
      return handedOut;
    },

    async finish(claim, tokens) {
      const sealed = tokens && seal.sealTokens(claim.deliveryId, tokens);
      if (!(await store.handOver(claim, sealed))) {
        throw new ConnectError('the push is not yours any more', Code.NotFound);
      }
      deliveries.wake();
    },
  };
}

/** Nobody rings it. */
const silent = new Bell();

/** Where nothing can be pushed: nobody is told of anything. */
export const noPushes: Pushes = {
  async *watch(signal) {
    while (!signal.aborted) {
      yield {};
      await silent.wait(0, heartbeatMs, signal);
    }
  },
  take: () => Promise.resolve([]),
  finish: () => Promise.reject(new ConnectError('nothing is pushed here', Code.NotFound)),
};
