import { z } from 'zod';
import { Secret } from '@tessera/kit';
import { choice, flag } from './setting-types.ts';

const endpoint = z
  .string()
  .refine(isEndpoint, {
    error: 'expected a URL such as http://collector:4318, without credentials and query',
  })
  .optional();

const protocols = ['http/protobuf', 'http/json', 'grpc'] as const;

/** `name=value,...`, percent-encoded, without encoded line breaks. */
const headers = /^(?:\s*[\w!#$&'*+.^`|~-]+\s*=(?:(?!%0[ad])[^,\r\n])*(?:,\s*|$))+$/i;

const samplers = [
  'parentbased_traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'traceidratio',
  'always_on',
  'always_off',
] as const;

/**
 * Settings of traces, by the names of the OpenTelemetry specification. The SDK reads them, and every other `OTEL_*`
 * variable that it knows, from the environment. Listed here is what decides whether traces are on and what a start
 * should refuse.
 */
export const tracingConfig = z.object({
  OTEL_SDK_DISABLED: flag(false),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'expected one of otlp, none' }).optional(),
  /** The collector; over HTTP traces are posted to `<endpoint>/v1/traces`. Absent: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  /** The full URL for traces, in place of the one above. */
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: choice(protocols, 'http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: z
    .enum(protocols, { error: `expected one of ${protocols.join(', ')}` })
    .optional(),
  /** For a collector that authenticates its clients. */
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .regex(headers, { error: 'expected name=value[,name=value...]' })
    .transform((value) => new Secret(value))
    .optional(),
  OTEL_TRACES_SAMPLER: choice(samplers, 'parentbased_traceidratio'),
  /** For the two samplers by ratio: share of the requests that are traced, 0 to 1. */
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0|1|0?\.\d{1,9}|1\.0+|0\.0+)$/, { error: 'expected a number from 0 to 1' })
    .transform(Number)
    .prefault('1'),
});

export type TracingConfig = z.infer<typeof tracingConfig>;

/** Traces are on if a collector is named, or if the exporter is, which then has the default address. */
export function tracesAreOn(config: TracingConfig): boolean {
  if (config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none') return false;
  const collector = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  return collector !== undefined || config.OTEL_TRACES_EXPORTER === 'otlp';
}

export function tracesProtocol(config: TracingConfig): (typeof protocols)[number] {
  return config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL;
}

/** These settings as environment variables, with our defaults and the values that came from files (`_FILE`). */
export function tracingEnvironment(config: TracingConfig): Record<string, string> {
  const given = Object.keys(tracingConfig.shape).flatMap((name) => {
    const value = config[name as keyof TracingConfig];
    if (value === undefined) return [];
    return [[name, value instanceof Secret ? value.reveal() : String(value)] as const];
  });
  return Object.fromEntries(given);
}

function isEndpoint(value: string): boolean {
  const parsed = URL.parse(value);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return false;
  return parsed.username === '' && parsed.password === '' && parsed.search === '' && parsed.hash === '';
}
