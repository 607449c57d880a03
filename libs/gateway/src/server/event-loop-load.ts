import { performance } from 'node:perf_hooks';

/** A time-out in a process that was busy for a larger share of the time is not the client's fault. */
const busyShare = 0.5;

export interface EventLoopLoad {
  /** Whether the event loop was mostly busy in this window and the one before it. */
  isBusy(): boolean;
  close(): void;
}

/** Watches how busy the event loop is, in windows of `windowMs`. */
export function watchEventLoopLoad(windowMs: number): EventLoopLoad {
  let previous = performance.eventLoopUtilization();
  let present = previous;
  const timer = setInterval(() => {
    previous = present;
    present = performance.eventLoopUtilization();
  }, windowMs);
  timer.unref();
  return {
    isBusy: () => performance.eventLoopUtilization(previous).utilization > busyShare,
    close: () => clearInterval(timer),
  };
}

/** An event loop that works for a larger share of the time is behind with its work. */
const saturatedShare = 0.9;

/**
 * Tells whether the event loop had hardly a pause lately, that is between two of the times when it was asked, at least
 * `windowMs` apart. Costs nothing unless it is read.
 */
export function createLoopGauge(windowMs: number): () => boolean {
  let since = performance.eventLoopUtilization();
  let isSaturated = false;
  return () => {
    const { active, idle, utilization } = performance.eventLoopUtilization(since);
    if (active + idle >= windowMs) {
      isSaturated = utilization > saturatedShare;
      since = performance.eventLoopUtilization();
    }
    return isSaturated;
  };
}
