import { setTimeout as pause } from 'node:timers/promises';
import { followStream } from '@tessera/kit';
import { Code, ConnectError, isLocal, rootCall } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { type Runtime } from '@tessera/process';
import type { ApprovedPush, BackchannelAuthenticationService } from '@tessera/proto-gen/device';
import type { TokenResponse } from '../pipeline/pipeline.ts';

/** Pushes that one process works on at a time; the others are left to other processes. */
const maxConcurrent = 16;
const callMs = 2_000;
const shortestPauseMs = 100;
const longestPauseMs = 5_000;
const failuresUntilWarning = 3;
/** The stream sends a message every ten seconds. */
const silenceMs = 30_000;
/** Pauses before issued tokens are handed over again; together far shorter than the lease. */
const handOverDelaysMs = [200, 1_000, 3_000];

export interface PushWorker {
  /** Takes no more pushes; resolves when the pushes already taken are finished. */
  close(): Promise<void>;
}

interface PushWorkerDeps {
  readonly backchannel: Client<typeof BackchannelAuthenticationService>;
  readonly issue: (push: ApprovedPush) => Promise<TokenResponse | 'failed' | 'later'>;
  readonly runtime: Pick<Runtime, 'log'>;
}

/**
 * Issues the tokens of approved requests in push mode (CIBA Core §10.3). `device` never calls this service: it signals new pushes
 * by a stream, and this worker takes them. When idle, the stream sends one message every ten seconds.
 */
export function startPushWorker(deps: PushWorkerDeps): PushWorker {
  const { backchannel, runtime } = deps;
  const closing = new AbortController();
  const inProgress = new Set<Promise<void>>();
  let taking: Promise<void> | undefined;
  /** Whether there may be more pushes than those being taken. */
  let more = false;

  /** Takes pushes until none is left or enough are in progress. */
  async function take(): Promise<void> {
    while (more && !closing.signal.aborted && inProgress.size < maxConcurrent) {
      more = false;
      const limit = maxConcurrent - inProgress.size;
      const { pushes } = await backchannel.takePushes({ limit }, rootCall('take-pushes', callMs));
      more ||= pushes.length === limit;
      for (const push of pushes) start(push);
    }
  }

  function takeSoon(): void {
    taking ??= take()
      .catch((error: unknown) => runtime.log.warn({ err: error }, 'cannot take approved pushes'))
      .finally(() => {
        taking = undefined;
        if (more && inProgress.size < maxConcurrent && !closing.signal.aborted) takeSoon();
      });
  }

  function start(push: ApprovedPush): void {
    const finishing = finish(deps, push)
      .catch((error: unknown) =>
        runtime.log.warn({ err: error }, 'push not finished; it will be taken again'),
      )
      .finally(() => {
        inProgress.delete(finishing);
        if (more) takeSoon();
      });
    inProgress.add(finishing);
  }

  const watching = followStream({
    open: (signal) => backchannel.watchPushes({}, rootCall('watch-pushes', undefined, signal)),
    onMessage() {
      more = true;
      takeSoon();
      return true;
    },
    onEnd(reason, failures) {
      // Servers end old connections regularly, so a single end is not worth a warning.
      if (failures === failuresUntilWarning)
        runtime.log.warn({ err: reason }, 'cannot watch approved pushes');
    },
    silenceMs: isLocal(backchannel) ? undefined : silenceMs,
    shortestPauseMs,
    longestPauseMs,
  });
  return {
    async close() {
      closing.abort();
      await watching.close();
      await taking;
      await Promise.all(inProgress);
    },
  };
}

async function finish({ backchannel, issue, runtime }: PushWorkerDeps, push: ApprovedPush): Promise<void> {
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
        // Taken by another process since, or handed over by a call whose response was lost.
        runtime.log.warn({ requestId }, 'push claim lost to another process');
        return;
      }
      if (delayMs === undefined) throw error;
      await pause(delayMs, undefined, { ref: false });
    }
  }
}
