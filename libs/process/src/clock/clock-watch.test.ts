import { newDatabaseUrl, silentLog, testDatabase } from '@tessera/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import type { Queryable } from '@tessera/stores';
import { watchClock } from './clock-watch.ts';
import { loadConfig } from '../config/load-config.ts';
import { createRuntime } from '../create-runtime.ts';
import { createLifecycle } from '../lifecycle.ts';
import { processConfig } from '../config/settings-of-every-process.ts';

const postgres = await testDatabase();
const hourMs = 3_600_000;
const refused = expect.objectContaining({ code: 'temporarily_unavailable', retryAfterSeconds: 1 }) as Error;

/** The system's clock, which a test steps. */
function steppableClock() {
  let offMs = 0;
  return { now: () => Date.now() + offMs, step: (ms: number) => void (offMs += ms) };
}

function watched(database: Queryable = postgres) {
  const clock = steppableClock();
  const watch = watchClock({ database, clock, log: silentLog() });
  onTestFinished(() => watch.close());
  const agrees = () => {
    try {
      watch.requireAgreement();
      return true;
    } catch {
      return false;
    }
  };
  return { clock, watch, agrees };
}

it.each([hourMs, -hourMs])(
  'a step of %d ms is refused from the first call on, until it is undone',
  async (ms) => {
    const { clock, watch, agrees } = watched();
    await watch.check();
    watch.requireAgreement();

    clock.step(ms);
    expect(() => watch.requireAgreement()).toThrow(refused);
    await expect(watch.check()).rejects.toMatchObject({ word: 'clock_skew' });
    expect(() => watch.requireAgreement()).toThrow(refused);

    clock.step(-ms);
    await expect.poll(agrees).toBe(true);
  },
);

it('a step while the clocks are being compared does not pass as a slow answer', async () => {
  let clock = steppableClock();
  const database: Queryable = {
    query: async (statement) => {
      const result = await postgres.query<never>(statement);
      clock.step(hourMs);
      return result;
    },
  };
  const stepping = watched(database);
  clock = stepping.clock;
  await stepping.watch.check();
  expect(() => stepping.watch.requireAgreement()).toThrow(refused);
});

it('a step of the clock of the database is found without a call', async () => {
  let offMs = 0;
  const stepped: Queryable = {
    query: async (statement) => {
      const { rows, ...rest } = await postgres.query<{ now: number }>(statement);
      return { ...rest, rows: rows.map((row) => ({ now: row.now + offMs })) } as never;
    },
  };
  const { watch, agrees } = watched(stepped);
  await watch.check();
  expect(agrees()).toBe(true);
  offMs = hourMs;
  await expect.poll(agrees).toBe(false);
});

it('an unavailable database neither ends nor starts a refusal', async () => {
  let unavailable = false;
  const database: Queryable = {
    query: (statement) =>
      unavailable ? Promise.reject(new Error('unavailable')) : postgres.query<never>(statement),
  };
  const { clock, watch } = watched(database);
  await watch.check();
  unavailable = true;
  await expect(watch.check()).rejects.toThrow('unavailable');
  watch.requireAgreement();

  unavailable = false;
  clock.step(hourMs);
  await expect(watch.check()).rejects.toMatchObject({ word: 'clock_skew' });
  unavailable = true;
  await expect(watch.check()).rejects.toMatchObject({ word: 'clock_skew' });
  expect(() => watch.requireAgreement()).toThrow(refused);
});

it('a process whose clock steps while it runs withdraws its readiness and its runtime refuses, then both come back', async () => {
  const lifecycle = createLifecycle({ log: silentLog(), pauseMs: 0, drainTimeoutMs: 500 });
  onTestFinished(() => lifecycle.stop());
  const config = loadConfig(processConfig, { DATABASE_URL: await newDatabaseUrl() });
  const clock = steppableClock();
  const runtime = await createRuntime({ name: 'token', config, log: silentLog(), lifecycle, clock });
  lifecycle.started();
  await expect.poll(() => lifecycle.readiness()).toMatchObject({ ready: true });

  clock.step(hourMs);
  expect(runtime.requireClock).toThrow(refused);
  const skewed = { ready: false, state: 'running', checks: { database: 'clock_skew' } };
  await expect.poll(() => lifecycle.readiness()).toEqual(skewed);

  clock.step(-hourMs);
  await expect.poll(() => lifecycle.readiness()).toMatchObject({ ready: true });
  runtime.requireClock();
});
