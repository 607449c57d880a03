import { limitRepeats } from '@tessera/telemetry';
import { fakeClock, silentLog } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { KeySets, type KeySource } from './key-sets.ts';

const minuteMs = 60_000;
const usual = { refreshMs: 10 * minuteMs, keptMs: 60 * minuteMs };
const unavailable = { code: 'temporarily_unavailable' };

function opened() {
  const clock = fakeClock();
  const loads: string[] = [];
  const keySets = new KeySets({
    clock,
    places: { hold: async (_waiting, work) => work(), isHeld: () => true },
    warnings: limitRepeats(silentLog()),
  });
  /** Its keys are there at once, or once `until` resolves. */
  const source = (
    name: string,
    { isConfigured = false, until }: { isConfigured?: boolean; until?: Promise<void> } = {},
  ): KeySource => ({
    name,
    server: name,
    isConfigured,
    async load() {
      loads.push(name);
      await until;
      return { keys: [], ...usual };
    },
  });
  const get = async (of: KeySource, tenantId: string) =>
    keySets.get(of, { ipAddress: '192.0.2.1', tenantId });
  return { clock, loads, source, get };
}

describe('the keys that tenants make a process ask for', () => {
  it('are of a hundred sources of each within a minute: more get 503 and others keep theirs', async () => {
    const { clock, loads, source, get } = opened();
    await get(source('of acme'), 'acme');
    for (let index = 0; index < 100; index += 1) await get(source(`${index}`), 'greedy');
    for (let time = 0; time < 3; time += 1)
      await expect(get(source(`more ${time}`), 'greedy')).rejects.toMatchObject(unavailable);
    expect(loads).toHaveLength(101);
    await get(source('50'), 'greedy');
    await get(source('of acme'), 'acme');
    await get(source('set by the operator', { isConfigured: true }), 'greedy');
    expect(loads).toHaveLength(102);
    clock.advance(minuteMs);
    await get(source('more'), 'greedy');
    await get(source('1'), 'greedy');
    expect(loads.slice(102)).toEqual(['more']);
    // Its place is the one that was used least recently.
    await get(source('0'), 'greedy');
    expect(loads.slice(102)).toEqual(['more', '0']);
  });

  it('stay for another tenant that uses the same issuer', async () => {
    const { clock, loads, source, get } = opened();
    await get(source('shared'), 'greedy');
    await get(source('shared'), 'acme');
    clock.advance(minuteMs);
    for (let index = 0; index < 100; index += 1) await get(source(`${index}`), 'greedy');
    await get(source('shared'), 'acme');
    expect(loads.filter((name) => name === 'shared')).toHaveLength(1);
  });

  it('are asked for at eight sources of a tenant at once', async () => {
    const { source, get, loads } = opened();
    const { promise: until, resolve } = Promise.withResolvers<void>();
    const waiting = Array.from({ length: 8 }, (_, index) =>
      get(source(`slow ${index}`, { until }), 'greedy'),
    );
    await expect(get(source('slow 8', { until }), 'greedy')).rejects.toMatchObject(unavailable);
    await get(source('quick'), 'acme');
    expect(loads).toHaveLength(9);
    resolve();
    await Promise.all(waiting);
    await get(source('slow 8'), 'greedy');
  });
});
