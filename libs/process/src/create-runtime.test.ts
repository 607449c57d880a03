import { fakeClock, newDatabaseUrl } from '@tessera/test-kit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '@tessera/kit';
import { loadConfig } from './config/load-config.ts';
import { createRuntime } from './create-runtime.ts';
import { createLifecycle } from './lifecycle.ts';
import { createLogger } from '@tessera/telemetry';
import { processConfig } from './config/settings-of-every-process.ts';

describe('a runtime whose clock is off', () => {
  it('keeps its process from being ready, and says what to change, until the clock is right (F14)', async () => {
    const lines: string[] = [];
    const log = createLogger(
      { service: 'test', level: 'info' },
      { write: (line: string) => void lines.push(line) },
    );
    const lifecycle = createLifecycle({ log, pauseMs: 0, drainTimeoutMs: 500 });
    onTestFinished(() => lifecycle.stop());
    const config = loadConfig(processConfig, { DATABASE_URL: await newDatabaseUrl() });
    const clock = fakeClock(systemClock.now() + 120_000);
    await createRuntime({ name: 'token', config, log, lifecycle, clock });
    lifecycle.started();
    expect(await lifecycle.readiness()).toEqual({
      ready: false,
      state: 'running',
      checks: { database: 'clock_skew' },
    });
    expect(lines.join('')).toContain('s ahead of the database');
    expect(lines.join('')).toContain('Synchronise the clocks of both with NTP.');
    const look = async () => {
      clock.set(systemClock.now());
      return lifecycle.readiness();
    };
    await expect.poll(look).toMatchObject({ ready: true, checks: { database: 'ok' } });
  });
});
