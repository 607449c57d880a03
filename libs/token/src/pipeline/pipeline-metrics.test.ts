import { metrics } from '@tessera/telemetry';
import { expect, it, onTestFinished } from 'vitest';
import { codeOf, world } from '../testing/world.ts';

async function counted(reason: string): Promise<number> {
  const series = `tessera_refusals_total{method="tessera.token.v1.TokenService/Exchange",reason="${reason}"} `;
  const lines = (await metrics.text()).split('\n');
  const line = lines.find((each) => each.startsWith(series));
  return Number(line?.slice(series.length));
}

it('Reuse and replay are counted from 0, so that an alert sees the first increase', async () => {
  const on = await world();
  onTestFinished(() => on.close());
  expect([await counted('reuse_detected'), await counted('replayed')]).toEqual([0, 0]);
  const code = on.newCode();
  await on.redeem(code);
  expect(await codeOf(on.redeem(code))).toBe('invalid_grant');
  expect([await counted('reuse_detected'), await counted('replayed')]).toEqual([0, 1]);
});
