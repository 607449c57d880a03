import { describe, expect, it } from 'vitest';
import { measureProcess } from './process.ts';
import { createRegistry } from './registry.ts';

describe('The registry', () => {
  it('writes counters with their labels, in the text format of Prometheus', () => {
    const registry = createRegistry();
    const requests = registry.counter({
      name: 'requests_total',
      help: 'Requests.',
      labels: ['route', 'status'],
    });
    requests.with('/token', '200').add();
    requests.with('/token', '200').add(2);
    requests.with('a"b\\c\nd', '400').add();
    expect(registry.text()).toBe(
      [
        '# HELP requests_total Requests.',
        '# TYPE requests_total counter',
        'requests_total{route="/token",status="200"} 3',
        'requests_total{route="a\\"b\\\\c\\nd",status="400"} 1',
        '',
      ].join('\n'),
    );
  });

  it('writes a counter without labels before it was first added to', () => {
    const registry = createRegistry();
    registry.counter({ name: 'dropped_total', help: 'Dropped.' });
    expect(registry.text()).toContain('\ndropped_total 0\n');
  });

  it('writes histograms with buckets that add up', () => {
    const registry = createRegistry();
    const seconds = registry
      .histogram({ name: 'seconds', help: 'Time.', labels: ['m'], buckets: [0.1, 1] })
      .with('x');
    for (const value of [0.05, 0.1, 0.5, 3]) seconds.observe(value);
    expect(registry.text().split('\n').slice(2, -1)).toEqual([
      'seconds_bucket{m="x",le="0.1"} 2',
      'seconds_bucket{m="x",le="1"} 3',
      'seconds_bucket{m="x",le="+Inf"} 4',
      'seconds_sum{m="x"} 3.65',
      'seconds_count{m="x"} 4',
    ]);
  });

  it('reads gauges when it is asked, adds up what several readers say, and forgets a reader that ended', () => {
    const registry = createRegistry();
    let busy = 1;
    const options = { name: 'connections', help: 'Connections.' };
    registry.gauge(options, () => [{ labels: { state: 'busy' }, value: busy }]);
    const end = registry.gauge(options, () => [{ labels: { state: 'busy' }, value: 10 }]);
    busy = 2;
    expect(registry.text()).toContain('connections{state="busy"} 12\n');
    end();
    expect(registry.text()).toContain('connections{state="busy"} 2\n');
  });

  it('tells the rest when a reader fails', () => {
    const registry = createRegistry();
    registry.counter({ name: 'other_total', help: 'Other.' });
    registry.gauge({ name: 'broken', help: 'Broken.' }, () => {
      throw new Error('no answer');
    });
    expect(registry.text()).toContain('\nother_total 0\n');
  });

  it('keeps the number of series bounded, whatever a label is given', () => {
    const registry = createRegistry();
    const family = registry.counter({ name: 'seen_total', help: 'Seen.', labels: ['value'] });
    for (let index = 0; index < 2_000; index += 1) family.with(String(index)).add();
    const lines = registry
      .text()
      .split('\n')
      .filter((line) => line.startsWith('seen_total'));
    expect(lines).toHaveLength(501);
    expect(lines.at(-1)).toBe('seen_total{value="(other)"} 1500');
  });

  it('refuses a name that is taken', () => {
    const registry = createRegistry();
    registry.counter({ name: 'twice_total', help: 'x' });
    expect(() => registry.counter({ name: 'twice_total', help: 'x' })).toThrow('twice_total');
  });
});

it('A process tells its memory, its processor time and how late its event loop is', async () => {
  const registry = createRegistry();
  measureProcess(registry);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const text = registry.text();
  expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d+$/m);
  expect(text).toMatch(/^process_cpu_seconds_total [\d.]+$/m);
  expect(text).toMatch(/^tessera_event_loop_delay_seconds\{quantile="0.99"\} [\d.e-]+$/m);
});
