import { temporarilyUnavailable } from '@tessera/oauth';
import { describe, expect, it } from 'vitest';
import { createLifecycle } from './lifecycle.ts';
import { createLogger } from '@tessera/telemetry';

function create(overrides: { pauseMs?: number; drainTimeoutMs?: number } = {}) {
  const written: string[] = [];
  const log = createLogger(
    { service: 'test', level: 'info' },
    { write: (line: string) => void written.push(line) },
  );
  return {
    lifecycle: createLifecycle({ log, pauseMs: 0, drainTimeoutMs: 500, ...overrides }),
    text: () => written.join(''),
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe('readiness', () => {
  it('needs the start to be done and every check to have passed', async () => {
    const { lifecycle } = create();
    let isUp = false;
    lifecycle.check('database', async () => {
      if (!isUp) throw temporarilyUnavailable(new Error('connect ECONNREFUSED db.internal:5432'));
    });
    lifecycle.check('service', async () => undefined);
    isUp = true;
    expect(await lifecycle.readiness()).toEqual({
      ready: false,
      state: 'starting',
      checks: { database: 'ok', service: 'ok' },
    });
    isUp = false;
    lifecycle.started();
    await pause(300);
    expect(await lifecycle.readiness()).toEqual({
      ready: false,
      state: 'running',
      checks: { database: 'temporarily_unavailable', service: 'ok' },
    });
    isUp = true;
    await pause(300);
    expect(await lifecycle.readiness()).toMatchObject({ ready: true, state: 'running' });
  });

  it('shows a check that fails later without taking the process out of service', async () => {
    const { lifecycle, text } = create();
    const failures: Error[] = [];
    lifecycle.check('redis', async () => {
      for (const failure of failures) throw failure;
    });
    lifecycle.started();
    expect((await lifecycle.readiness()).ready).toBe(true);
    failures.push(new Error('with a detail'));
    await pause(300);
    expect(await lifecycle.readiness()).toEqual({
      ready: true,
      state: 'running',
      checks: { redis: 'failed' },
    });
    expect(text()).toContain('readiness check failing');
  });

  it('does not wait for a check that hangs, and runs once for concurrent callers', async () => {
    const { lifecycle } = create();
    let asked = 0;
    lifecycle.check('hanging', () => {
      asked += 1;
      return new Promise(() => undefined);
    });
    lifecycle.started();
    const answers = await Promise.all(Array.from({ length: 20 }, () => lifecycle.readiness()));
    expect(asked).toBe(1);
    expect(answers[0]).toEqual({ ready: false, state: 'running', checks: { hanging: 'timeout' } });
  });
});

describe('stopping', () => {
  it('withdraws readiness, pauses, drains, then closes what was opened, last first', async () => {
    const { lifecycle } = create({ pauseMs: 200 });
    const order: string[] = [];
    const step =
      (name: string, ms = 0) =>
      async () => {
        await pause(ms);
        order.push(name);
      };
    lifecycle.onClose(step('close database'));
    lifecycle.onClose(step('close service', 20));
    lifecycle.onDrain(step('drain http', 50));
    lifecycle.onDrain(step('drain rpc', 10));
    lifecycle.started();
    expect((await lifecycle.readiness()).ready).toBe(true);
    const stopped = lifecycle.stop();
    expect(lifecycle.signal.aborted).toBe(true);
    expect(await lifecycle.readiness()).toMatchObject({ ready: false, state: 'draining' });
    await pause(100);
    expect(order).toEqual([]);
    await Promise.all([stopped, lifecycle.stop()]);
    expect(order).toEqual(['drain rpc', 'drain http', 'close service', 'close database']);
    expect((await lifecycle.readiness()).state).toBe('stopped');
  });

  it('continues if a part fails or does not end in time', async () => {
    const { lifecycle, text } = create({ drainTimeoutMs: 50 });
    let closed = 0;
    lifecycle.onClose(async () => {
      closed += 1;
    });
    lifecycle.onClose(() => Promise.reject(new Error('cannot close')));
    lifecycle.onDrain(() => new Promise(() => undefined));
    lifecycle.started();
    await lifecycle.stop();
    expect(closed).toBe(1);
    expect(text()).toContain('draining failed');
    expect(text()).toContain('closing failed');
  });

  it('does not pause a process that had not started', async () => {
    const { lifecycle } = create({ pauseMs: 60_000 });
    await lifecycle.stop();
    expect((await lifecycle.readiness()).state).toBe('stopped');
  });
});
