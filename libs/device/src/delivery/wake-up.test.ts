import { describe, expect, it } from 'vitest';
import { Bell } from './wake-up.ts';

const never = new AbortController().signal;

describe('a bell', () => {
  it('keeps nothing of those who waited in vain', async () => {
    const bell = new Bell();
    for (let round = 0; round < 20; round += 1) {
      const waits = Array.from({ length: 50 }, () => bell.wait(bell.rings, 1, never));
      expect(bell.waiting).toBe(50);
      await Promise.all(waits);
      expect(bell.waiting).toBe(0);
    }
  });

  it('wakes all who wait, and keeps nothing of them', async () => {
    const bell = new Bell();
    const waits = [1, 2, 3].map(() => bell.wait(bell.rings, 60_000, never));
    bell.ring();
    await Promise.all(waits);
    expect(bell.waiting).toBe(0);
  });

  it('is heard by who begins to wait after it rang, and heard once', async () => {
    const bell = new Bell();
    const heard = bell.rings;
    bell.ring();
    await bell.wait(heard, 60_000, never);
    const next = bell.wait(bell.rings, 60_000, never);
    expect(bell.waiting).toBe(1);
    bell.ring();
    await next;
  });

  it('is waited for no longer once the signal is aborted', async () => {
    const bell = new Bell();
    const stop = new AbortController();
    const wait = bell.wait(bell.rings, 60_000, stop.signal);
    stop.abort();
    await wait;
    await bell.wait(bell.rings, 60_000, stop.signal);
    expect(bell.waiting).toBe(0);
  });
});
