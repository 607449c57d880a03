import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Registry } from './registry.ts';

const resolutionMs = 10;

/** What every process tells about itself: processor, memory, and how late its event loop is. */
export function measureProcess(registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  registry.gauge(
    {
      name: 'tessera_event_loop_delay_seconds',
      help: 'How late timers were since the metrics were last read.',
      labels: ['quantile'],
    },
    () => {
      const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1e3);
      const samples = [
        { labels: { quantile: '0.5' }, value: late(delay.percentile(50)) },
        { labels: { quantile: '0.99' }, value: late(delay.percentile(99)) },
        { labels: { quantile: '1' }, value: late(delay.max) },
      ];
      delay.reset();
      return samples;
    },
  );
  registry.gauge(
    { name: 'process_cpu_seconds_total', help: 'Processor time used, in user and system mode.' },
    () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) / 1e6 }];
    },
  );
  registry.gauge({ name: 'process_resident_memory_bytes', help: 'Memory that the process holds.' }, () => [
    { value: process.memoryUsage.rss() },
  ]);
  registry.gauge(
    { name: 'process_start_time_seconds', help: 'When the process started, since the epoch.' },
    () => [{ value: Math.round(performance.timeOrigin / 1000) }],
  );
}
