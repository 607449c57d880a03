import { monitorEventLoopDelay } from 'node:perf_hooks';
import { metrics } from './metrics.ts';

/** Each sample wakes the process: at 10 ms, the default, that is half of what an idle one costs. */
const resolutionMs = 100;

/**
 * Opens the metrics, and measures the process itself: the default metrics of Prometheus clients, and how late its event
 * loop is.
 */
export async function measureProcess(): Promise<void> {
  const { collectDefaultMetrics } = await metrics.open();
  collectDefaultMetrics({ eventLoopMonitoringPrecision: resolutionMs });
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const options = {
    name: 'tessera_event_loop_delay_seconds',
    help: 'How late timers were since the metrics were last read.',
    labels: ['quantile'],
  };
  metrics.gauge(options, () => {
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1e3);
    const samples = [
      { labels: { quantile: '0.5' }, value: late(delay.percentile(50)) },
      { labels: { quantile: '0.99' }, value: late(delay.percentile(99)) },
      { labels: { quantile: '1' }, value: late(delay.max) },
    ];
    delay.reset();
    return samples;
  });
}
