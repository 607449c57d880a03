import { describe, expect, it } from 'vitest';
import { WakeUpSignal } from './wake-up.ts';

const never = new AbortController().signal;

describe('the wake-up signal', () => {
  it('removes waiters that timed out', async () => {
    const signal = new WakeUpSignal();
    for (let round = 0; round < 20; round += 1) {
      const waits = Array.from({ length: 50 }, () => signal.wait(signal.notifications, 1, never));
      expect(signal.waiters).toBe(50);
      await Promise.all(waits);
      expect(signal.waiters).toBe(0);
    }
  });

  it('wakes and removes all waiters', async () => {
    const signal = new WakeUpSignal();
    const waits = [1, 2, 3].map(() => signal.wait(signal.notifications, 60_000, never));
    signal.notify();
    await Promise.all(waits);
    expect(signal.waiters).toBe(0);
  });

  it('wakes a waiter that starts after the notification, once', async () => {
    const signal = new WakeUpSignal();
    const seen = signal.notifications;
    signal.notify();
    await signal.wait(seen, 60_000, never);
    const next = signal.wait(signal.notifications, 60_000, never);
    expect(signal.waiters).toBe(1);
    signal.notify();
    await next;
  });

  it('ends a wait when it is aborted', async () => {
    const signal = new WakeUpSignal();
    const stop = new AbortController();
    const wait = signal.wait(signal.notifications, 60_000, stop.signal);
    stop.abort();
    await wait;
    await signal.wait(signal.notifications, 60_000, stop.signal);
    expect(signal.waiters).toBe(0);
  });
});
