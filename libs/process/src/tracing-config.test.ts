import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.ts';
import { parseHeaders } from '@tessera/telemetry';
import { tracesEndpoint, tracingConfig } from './tracing-config.ts';

const load = (environment: Record<string, string>) => loadConfig(tracingConfig, environment);
const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318';

describe('the settings of traces', () => {
  it('are off unless a collector is named, and where they are switched off', () => {
    expect(tracesEndpoint(load({}))).toBeUndefined();
    expect(tracesEndpoint(load({ OTEL_EXPORTER_OTLP_ENDPOINT }))).toBe('http://collector:4318');
    expect(tracesEndpoint(load({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' }))).toBeUndefined();
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:pass@collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:4318?key=x'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a-secret-without-a-name'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'name with space=x'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'name=line%0Abreak'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half'],
  ])('refuse %s=%s by name, without the value', (name, value) => {
    expect(() => load({ [name]: value })).toThrow(name);
    expect(() => load({ [name]: value })).not.toThrow(/a-secret|pass@/);
  });

  it.each([
    ['0', 0],
    ['1', 1],
    ['1.0', 1],
    ['0.05', 0.05],
    ['.5', 0.5],
  ])('take %s as a share', (text, share) => {
    expect(load({ OTEL_TRACES_SAMPLER_ARG: text }).OTEL_TRACES_SAMPLER_ARG).toBe(share);
  });

  it('read headers as the specification writes them, and never print them', () => {
    expect(parseHeaders('authorization=Bearer%20abc, x-tenant = a ,')).toEqual({
      authorization: 'Bearer abc',
      'x-tenant': 'a',
    });
    expect(String(load({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=abc' }).OTEL_EXPORTER_OTLP_HEADERS)).toBe(
      '[redacted]',
    );
  });
});
