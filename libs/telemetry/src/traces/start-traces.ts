import * as openTelemetry from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { NodeTracerConfig, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import type { Logger } from 'pino';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createAllowList } from './allow-list.ts';
import { createReportingBatch } from './reporting.ts';
import { activateTracing } from './tracing.ts';

const { context, diag, DiagLogLevel, propagation, trace } = openTelemetry;

export type OtlpProtocol = 'grpc' | 'http/protobuf' | 'http/json';

/**
 * Switches traces on for this process. Everything but the protocol is read by the SDK from `OTEL_*` in the environment.
 * @returns a function that sends the last spans, for two seconds at most, and switches traces off
 */
export async function startTracing(
  protocol: OtlpProtocol,
  process: { readonly name: string; readonly log: Logger },
): Promise<() => Promise<void>> {
  const { log } = process;
  reportProblems(log);
  const own = resourceFromAttributes({
    'service.name': `tessera-${process.name}`,
    'service.namespace': 'tessera',
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
  });
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const processor = createReportingBatch(await openExporter(protocol), log);
  const stop = registerTraces(processor, { resource });
  diag.disable();
  log.info({ protocol }, 'traces are on');
  return stop;
}

/** Settings that the SDK cannot use are logged at the start. Later it would repeat itself at every export. */
function reportProblems(log: Logger): void {
  const report = (...parts: readonly unknown[]): void =>
    log.warn(
      { detail: parts.filter((part) => typeof part === 'string').join(' ') },
      'cannot use a setting of traces',
    );
  const ignore = (): void => undefined;
  const logger = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

async function openExporter(protocol: OtlpProtocol): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'grpc'
      ? await import('@opentelemetry/exporter-trace-otlp-grpc')
      : protocol === 'http/json'
        ? await import('@opentelemetry/exporter-trace-otlp-http')
        : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

/** Makes the spans of this process, and hands what the allow-list leaves of them to `processor`. */
export function registerTraces(processor: SpanProcessor, config: NodeTracerConfig = {}): () => Promise<void> {
  const provider = new NodeTracerProvider({ ...config, spanProcessors: [createAllowList(processor)] });
  // Without baggage, which would carry a client's values between services.
  provider.register({ propagator: new W3CTraceContextPropagator() });
  const deactivate = activateTracing({ tracer: provider.getTracer('tessera'), api: openTelemetry });
  return async () => {
    deactivate();
    for (const api of [trace, context, propagation]) api.disable();
    await provider.shutdown();
  };
}
