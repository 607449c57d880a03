import { ExportResultCode, getNumberFromEnv } from '@opentelemetry/core';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace-node';
import type { Logger } from 'pino';
import { setTimeout as sleep } from 'node:timers/promises';
import { metrics } from '../metrics/metrics.ts';

const exported = metrics.counter({
  name: 'tessera_spans_exported_total',
  help: 'Spans that the trace collector accepted.',
});
const dropped = metrics.counter({
  name: 'tessera_spans_dropped_total',
  help: 'Spans missing in the traces, because the collector was unavailable for too long or refused them.',
});

/** How long the end of a process waits for the last spans. */
const closeMs = 2000;

/**
 * The batch processor of the SDK, which counts no spans and reports every failure. Here spans are counted, and the log
 * has one line when the collector becomes unavailable and one when it is back.
 */
export function createReportingBatch(exporter: SpanExporter, log: Logger): SpanProcessor {
  // The SDK drops spans beyond this number unseen, so they are counted before it does.
  const limit = getNumberFromEnv('OTEL_BSP_MAX_QUEUE_SIZE') ?? 2048;
  let waiting = 0;
  let isFailing = false;
  let isClosed = false;
  const batch = new BatchSpanProcessor({
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        const isTaken = code === ExportResultCode.SUCCESS;
        if (isTaken && isFailing) log.info('trace export recovered');
        if (!isTaken && !isFailing) log.warn({ err: error }, 'cannot export traces');
        isFailing = !isTaken;
        waiting -= spans.length;
        if (isTaken) exported.inc(spans.length);
        else dropped.inc(spans.length);
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    shutdown: () => exporter.shutdown(),
  });
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (isClosed || waiting >= limit) return dropped.inc();
      waiting += 1;
      batch.onEnd(span);
    },
    forceFlush: () => batch.forceFlush(),
    async shutdown() {
      isClosed = true;
      await Promise.race([batch.shutdown(), sleep(closeMs, undefined, { ref: false })]);
      dropped.inc(waiting);
    },
  };
}
