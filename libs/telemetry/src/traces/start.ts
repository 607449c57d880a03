import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { systemRandom } from '@tessera/kit';
import type { Secret } from '@tessera/kit';
import { parseHeaders } from './headers.ts';
import { createExporter } from './exporter.ts';
import { otlpEncodings } from './otlp.ts';
import { createTracer } from './tracer.ts';
import { activateTracer } from './tracing.ts';

/** The part of the settings of a process that traces need; the names are those of the OpenTelemetry specification. */
export interface TracingSettings {
  readonly OTEL_TRACES_SAMPLER_ARG: number;
  readonly OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' | 'http/json';
  readonly OTEL_EXPORTER_OTLP_HEADERS?: Secret | undefined;
  readonly OTEL_SERVICE_NAME?: string | undefined;
}

/** Switches traces on for this process. What it returns sends what is left, and ends them. */
export function startTracing(
  config: TracingSettings,
  endpoint: string,
  process: { readonly name: string; readonly log: Logger },
): () => Promise<void> {
  const share = config.OTEL_TRACES_SAMPLER_ARG;
  const exporter = createExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    encoding: otlpEncodings[config.OTEL_EXPORTER_OTLP_PROTOCOL],
    headers: parseHeaders(config.OTEL_EXPORTER_OTLP_HEADERS?.reveal() ?? '') ?? {},
    resource: {
      'service.name': config.OTEL_SERVICE_NAME ?? `tessera-${process.name}`,
      'service.namespace': 'tessera',
      'service.instance.id': randomUUID(),
      'host.name': hostname(),
    },
    log: process.log,
  });
  const deactivate = activateTracer(
    createTracer({
      ratio: share,
      random: systemRandom,
      export: (span) => exporter.add(span),
    }),
  );
  process.log.info({ endpoint, share }, 'traces are on');
  return async () => {
    deactivate();
    await exporter.close();
  };
}
