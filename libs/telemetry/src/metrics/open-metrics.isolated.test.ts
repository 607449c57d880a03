import { expect, it, vi } from 'vitest';

it('metrics count from when they are opened, also those that were declared before', async () => {
  vi.resetModules();
  const { metrics: closed } = await import('./metrics.ts');
  const early = closed.counter({ name: 'early_total', help: 'Early.', labels: ['kind'] });
  const times = closed.histogram({ name: 'early_seconds', help: 'Early.', labels: ['kind'] });
  const count = (): void => {
    early.labels('a').inc();
    times.labels('a').observe(1);
  };
  count();
  closed.gauge({ name: 'early_age', help: 'Early.' }, () => [{ value: 7 }]);
  expect(await closed.text()).toBe('');
  await closed.open();
  count();
  const text = await closed.text();
  for (const line of ['early_total{kind="a"} 1', 'early_seconds_count{kind="a"} 1', 'early_age 7'])
    expect(text).toContain(`${line}\n`);
});
