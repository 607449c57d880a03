import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { TimeLimitError, within } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';

export type LifecycleState = 'starting' | 'running' | 'draining' | 'stopped';

export interface Readiness {
  readonly ready: boolean;
  readonly state: LifecycleState;
  /** `ok`, or a word on what is wrong, for each check. */
  readonly checks: Readonly<Record<string, string>>;
}

/** Hooks into the life of a process for its parts. */
export interface Lifecycle {
  /** Aborted when the process begins to stop. */
  readonly signal: AbortSignal;
  /**
   * Adds something that must hold before the process reports ready. Once it was ready, a failing check is shown but
   * no longer withdraws readiness: a store that is unavailable is so for every replica, and taking all of them out of
   * service would end as well what works without it. A `CheckFailure` does withdraw it: another replica may do better.
   */
  check(name: string, probe: () => Promise<void>): void;
  /** Stop taking new work and wait for what is in flight. All are called at once, together bounded in time. */
  onDrain(stop: () => Promise<void>): void;
  /** Flush and close. Called last in, first out, after the drain. */
  onClose(close: () => Promise<void>): void;
  /** Read again what may change while the process runs, at SIGHUP. */
  onReload(reload: () => Promise<void>): void;
  readiness(): Promise<Readiness>;
  /** What `readiness` answered last, without another round of checks; false before. */
  lastReady(): boolean;
}

/** A lifecycle with the switches that the process itself holds. */
export interface ProcessLifecycle extends Lifecycle {
  started(): void;
  /** Runs the `onReload` hooks one after the other; a failure is only logged. */
  reload(): Promise<void>;
  /** Not ready, pause, stop accepting, drain, flush and close. Never rejects; a second call awaits the first. */
  stop(options?: { readonly pause?: boolean }): Promise<void>;
}

export interface LifecycleOptions {
  readonly log: Logger;
  /** How long to keep serving after readiness was withdrawn. */
  readonly pauseMs: number;
  readonly drainTimeoutMs: number;
}

const checkTimeoutMs = 1000;
/** Probes of several askers within this time share one round of checks. */
const checkAgeMs = 250;
const closeTimeoutMs = 5000;

interface Check {
  readonly name: string;
  readonly probe: () => Promise<void>;
  result: string;
  withdraws: boolean;
}

export function createLifecycle({ log, pauseMs, drainTimeoutMs }: LifecycleOptions): ProcessLifecycle {
  const checks: Check[] = [];
  const drains: (() => Promise<void>)[] = [];
  const closes: (() => Promise<void>)[] = [];
  const reloads: (() => Promise<void>)[] = [];
  let reloading: Promise<void> = Promise.resolve();
  const stopping = new AbortController();
  let state: LifecycleState = 'starting';
  let wasReady = false;
  let lastReady = false;
  let round: { readonly startedAt: number; readonly done: Promise<void> } | undefined;
  let stopped: Promise<void> | undefined;

  async function probe(check: Check): Promise<void> {
    const before = check.result;
    try {
      await within(checkTimeoutMs, check.probe());
      check.result = 'ok';
      check.withdraws = false;
    } catch (error) {
      check.withdraws = error instanceof CheckFailure;
      check.result = describe(error);
      if (before !== check.result) log.warn({ check: check.name, err: error }, 'readiness check failing');
    }
    if (before !== check.result && check.result === 'ok')
      log.info({ check: check.name }, 'readiness check passing');
  }

  function runChecks(): Promise<void> {
    const now = performance.now();
    if (round === undefined || now - round.startedAt > checkAgeMs) {
      const done = Promise.all(checks.map((check) => probe(check))).then(() => undefined);
      round = { startedAt: now, done };
    }
    return round.done;
  }

  async function stop(pause: boolean): Promise<void> {
    const wasRunning = state === 'running';
    state = 'draining';
    stopping.abort();
    log.info({ event: 'server.draining' }, 'stopping');
    if (pause && wasRunning && pauseMs > 0) await sleep(pauseMs);
    await attempt(log, 'draining', drainTimeoutMs, () => Promise.all(drains.map((drain) => drain())));
    for (const close of closes.toReversed()) await attempt(log, 'closing', closeTimeoutMs, close);
    state = 'stopped';
  }

  return {
    signal: stopping.signal,
    check(name, probeCheck) {
      checks.push({ name, probe: probeCheck, result: 'unknown', withdraws: false });
    },
    onDrain: (drain) => void drains.push(drain),
    onClose: (close) => void closes.push(close),
    onReload: (reload) => void reloads.push(reload),
    reload() {
      for (const reload of reloads) {
        reloading = reloading
          .then(reload)
          .catch((error: unknown) => log.error({ err: error }, 'reload failed'));
      }
      return reloading;
    },
    async readiness() {
      if (state !== 'stopped') await runChecks();
      const allPass = checks.every((check) => check.result === 'ok');
      wasReady ||= state === 'running' && allPass;
      const results = Object.fromEntries(checks.map((check) => [check.name, check.result]));
      const ready = state === 'running' && wasReady && !checks.some(({ withdraws }) => withdraws);
      lastReady = ready;
      return { ready, state, checks: results };
    },
    lastReady: () => lastReady,
    started() {
      if (state === 'starting') state = 'running';
    },
    stop: ({ pause = true } = {}) => (stopped ??= stop(pause)),
  };
}

/** A fault of this process alone, with a result of its own for the check. The message is only for the log. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure';
  /** The public result of the check. */
  readonly word: string;

  constructor(word: string, message: string) {
    super(message);
    this.word = word;
  }
}

/** The public result of a check: no address, no name of a store, no cause. */
function describe(error: unknown): string {
  if (error instanceof OAuthError) return error.code;
  if (error instanceof CheckFailure) return error.word;
  return error instanceof TimeLimitError ? 'timeout' : 'failed';
}

async function attempt(
  log: Logger,
  what: string,
  timeoutMs: number,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await within(timeoutMs, work());
  } catch (error) {
    log.warn({ err: error }, `${what} failed`);
  }
}
