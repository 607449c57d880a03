import { z } from 'zod';
import { Secret } from '@tessera/kit';
import { parseHeaders } from '@tessera/telemetry';
import { choice, flag, optionalText } from './setting-types.ts';

const isEndpoint = (value: string): boolean => {
  const parsed = URL.parse(value);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return false;
  return parsed.username === '' && parsed.password === '' && parsed.search === '' && parsed.hash === '';
};

/**
 * Where traces go. The names are those of the OpenTelemetry specification, so that what a platform gives to every process
 * is understood here; what of it is not listed has no effect.
 */
export const tracingConfig = z.object({
  /** The collector; traces are posted to `<endpoint>/v1/traces`. Absent: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine(isEndpoint, {
      error: 'expected a URL such as http://collector:4318, without credentials and query',
    })
    .optional(),
  /** OTLP over gRPC is not spoken here. */
  OTEL_EXPORTER_OTLP_PROTOCOL: choice(['http/protobuf', 'http/json'], 'http/protobuf'),
  /** `name=value,...`, percent-encoded, for collectors that ask who posts. */
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .refine((value) => parseHeaders(value) !== undefined, { error: 'expected name=value[,name=value...]' })
    .transform((value) => new Secret(value))
    .optional(),
  /** Share of the requests that are traced where no trusted caller decided it, 0 to 1. */
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine((value) => /^(0|1|0?\.\d{1,9}|1\.0+|0\.0+)$/.test(value), {
      error: 'expected a number from 0 to 1',
    })
    .transform(Number)
    .prefault('1'),
  /** Absent: `tessera-<process>`. */
  OTEL_SERVICE_NAME: optionalText(),
  OTEL_SDK_DISABLED: flag(false),
});

export type TracingConfig = z.infer<typeof tracingConfig>;

/** The endpoint if traces are on. */
export function tracesEndpoint(config: TracingConfig): string | undefined {
  return config.OTEL_SDK_DISABLED ? undefined : config.OTEL_EXPORTER_OTLP_ENDPOINT;
}
