import { describe, expect, it } from 'vitest';
import { metrics } from './metrics.ts';
import { measureProcess } from './node-metrics.ts';

describe('metrics', () => {
  it('are in the text format of Prometheus, with labels in the order of their names', async () => {
    const requests = metrics.counter({
      name: 'requests_total',
      help: 'Requests.',
      labels: ['route', 'status'],
    });
    requests.labels('/token', '200').inc();
    requests.labels('/token', '200').inc(2);
    const { contentType, text } = await metrics.read();
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain(
      '# HELP requests_total Requests.\n# TYPE requests_total counter\nrequests_total{route="/token",status="200"} 3\n',
    );
  });

  it('read gauges on request, add up several readers, and forget a reader that ended', async () => {
    let busy = 1;
    const options = { name: 'connections', help: 'Connections.', labels: ['state'] };
    metrics.gauge(options, () => [{ labels: { state: 'busy' }, value: busy }]);
    const end = metrics.gauge(options, () => [{ labels: { state: 'busy' }, value: 10 }]);
    busy = 2;
    expect(await metrics.text()).toContain('connections{state="busy"} 12\n');
    end();
    expect(await metrics.text()).toContain('connections{state="busy"} 2\n');
  });

  it('have no series for a gauge that has no value, and none for one that cannot be read', async () => {
    metrics.gauge({ name: 'unknown_age', help: 'Unknown.' }, () => []);
    metrics.gauge({ name: 'broken', help: 'Broken.' }, () => {
      throw new Error('no answer');
    });
    metrics.gauge({ name: 'known_age', help: 'Known.' }, () => [{ value: 3 }]);
    const text = await metrics.text();
    expect(text).not.toMatch(/^(unknown_age|broken)\b/m);
    expect(text).toMatch(/^known_age 3$/m);
  });

  it('of a process include its memory, processor time and event loop delay', async () => {
    await measureProcess();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const text = await metrics.text();
    expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d+$/m);
    expect(text).toMatch(/^process_cpu_seconds_total [\d.e-]+$/m);
    expect(text).toMatch(/^process_start_time_seconds [1-9]\d+$/m);
    expect(text).toMatch(/^tessera_event_loop_delay_seconds\{quantile="0.99"\} [\d.e-]+$/m);
  });
});
