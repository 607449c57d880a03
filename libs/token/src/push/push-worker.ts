import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError, rootCall } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { type Kit } from '@tessera/process';
import type { ApprovedPush, BackchannelAuthenticationService } from '@tessera/proto-gen/device';
import type { ExchangeResult } from '../grants/pipeline.ts';

/** Pushes that are worked on at a time in one process; what is not taken stays for others. */
const mostAtOnce = 16;
const callMs = 2_000;
const shortestPauseMs = 100;
const longestPauseMs = 5_000;
const failuresUntilWarning = 3;
/** The stream speaks every ten seconds. */
const silenceMs = 30_000;
/** Pauses before tokens that were issued are handed over again; all in all well within the lease. */
const handOverDelaysMs = [200, 1_000, 3_000];

export interface Pushing {
  /** Takes nothing more; resolves when what was taken is settled. */
  close(): Promise<void>;
}

interface PushingParts {
  readonly backchannel: Client<typeof BackchannelAuthenticationService>;
  readonly issue: (push: ApprovedPush) => Promise<ExchangeResult | 'failed' | 'later'>;
  readonly kit: Pick<Kit, 'log' | 'random'>;
}

/**
 * Has tokens issued for approved requests whose clients are pushed them (CIBA Core §10.3). `device` never calls this service, so
 * it says by a stream that there is something, and what there is is taken from it. Idle, that is one call in ten seconds.
 */
export function startPushing(parts: PushingParts): Pushing {
  const { backchannel, kit } = parts;
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  let taking: Promise<void> | undefined;
  /** There may be more than what is being taken. */
  let more = false;
  let failures = 0;

  /** Takes until nothing is left or enough is under way. */
  async function take(): Promise<void> {
    while (more && !closing.signal.aborted && underWay.size < mostAtOnce) {
      more = false;
      const limit = mostAtOnce - underWay.size;
      const { pushes } = await backchannel.takePushes({ limit }, rootCall('take-pushes', callMs));
      more ||= pushes.length === limit;
      for (const push of pushes) begin(push);
    }
  }

  function look(): void {
    taking ??= take()
      .catch((error: unknown) => kit.log.warn({ err: error }, 'approved pushes could not be taken'))
      .finally(() => {
        taking = undefined;
        if (more && underWay.size < mostAtOnce && !closing.signal.aborted) look();
      });
  }

  function begin(push: ApprovedPush): void {
    const settling = settle(parts, push)
      .catch((error: unknown) => kit.log.warn({ err: error }, 'a push was not settled; it is taken again'))
      .finally(() => {
        underWay.delete(settling);
        if (more) look();
      });
    underWay.add(settling);
  }

  async function follow(): Promise<void> {
    const silent = new AbortController();
    const signal = AbortSignal.any([silent.signal, closing.signal]);
    const silence = setTimeout(() => silent.abort(), silenceMs).unref();
    try {
      for await (const _ of backchannel.watchPushes({}, rootCall('watch-pushes', undefined, signal))) {
        silence.refresh();
        failures = 0;
        more = true;
        look();
      }
    } finally {
      clearTimeout(silence);
    }
  }

  async function repeat(): Promise<void> {
    while (!closing.signal.aborted) {
      let reason: unknown;
      await follow().catch((error: unknown) => (reason = error));
      if (closing.signal.aborted) return;
      failures += 1;
      // Servers end old connections now and then, so one end is nothing to speak of.
      if (failures === failuresUntilWarning) {
        kit.log.warn({ err: reason }, 'approved pushes cannot be heard of');
      }
      await backOff();
    }
  }

  async function backOff(): Promise<void> {
    const longest = Math.min(longestPauseMs, shortestPauseMs * 2 ** Math.min(failures - 1, 10));
    const jitter = kit.random.bytes(2).readUInt16BE() / 0x1_0000;
    const signal = closing.signal;
    await pause(longest * (0.5 + jitter / 2), undefined, { signal, ref: false }).catch(() => undefined);
  }

  const repeating = repeat();
  return {
    async close() {
      closing.abort();
      await repeating;
      await taking;
      await Promise.all(underWay);
    },
  };
}

async function settle({ backchannel, issue, kit }: PushingParts, push: ApprovedPush): Promise<void> {
  const issued = await issue(push);
  if (issued === 'later') return;
  const { deliveryId, attempt, requestId } = push;
  const outcome = { deliveryId, attempt, ...(issued !== 'failed' && { tokens: issued }) };
  for (const delayMs of [...handOverDelaysMs, undefined]) {
    try {
      await backchannel.finishPush(outcome, rootCall(requestId, callMs));
      return;
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.NotFound) {
        // Taken by another process since, or handed over by a call whose answer was lost.
        kit.log.warn({ requestId }, 'a push was not this process’s any more when it was issued');
        return;
      }
      if (delayMs === undefined) throw error;
      await pause(delayMs, undefined, { ref: false });
    }
  }
}
