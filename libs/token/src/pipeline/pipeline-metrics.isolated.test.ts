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

it('Token requests are counted by grant type and outcome; unknown types and unexpected errors have one name each', async () => {
  const on = await world();
  onTestFinished(() => on.close());
  const ask = (grantType: string) => codeOf(on.exchange('service', { grantType, scope: 'orders.read' }));
  await ask('client_credentials');
  await ask('of-the-caller');
  on.keys.refused = 'service';
  await ask('client_credentials');
  const text = await metrics.text();
  for (const [grant, outcome] of [
    ['client_credentials', 'issued'],
    ['client_credentials', 'internal'],
    ['(unknown)', 'unsupported_grant_type'],
  ]) {
    expect(text).toContain(`tessera_exchanges_total{grant="${grant}",outcome="${outcome}"} 1\n`);
  }
  expect(text).not.toContain('of-the-caller');
});
