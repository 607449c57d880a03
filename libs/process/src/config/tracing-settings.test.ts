import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.ts';
import { tracesAreOn, tracesProtocol, tracingConfig, tracingEnvironment } from './tracing-settings.ts';

const load = (environment: Record<string, string>) => loadConfig(tracingConfig, environment);
const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318';

describe('the settings of traces', () => {
  it.each<[boolean, Record<string, string>]>([
    [false, {}],
    [true, { OTEL_EXPORTER_OTLP_ENDPOINT }],
    [true, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }],
    [true, { OTEL_TRACES_EXPORTER: 'otlp' }],
    [false, { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
    [false, { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ])('switch traces on: %s with %o', (isOn, environment) => {
    expect(tracesAreOn(load(environment))).toBe(isOn);
  });

  it('choose the protocol, for traces alone or for all signals', () => {
    expect(tracesProtocol(load({}))).toBe('http/protobuf');
    expect(tracesProtocol(load({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }))).toBe('grpc');
    expect(
      tracesProtocol(
        load({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }),
      ),
    ).toBe('http/json');
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:pass@collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:4318?key=x'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/xml'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'always'],
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

  it.each(['authorization=Bearer%20abc, x-tenant = a ,', 'authorization=a==', 'x-empty='])(
    'accept the headers %s and never print them',
    (headers) => {
      const config = load({ OTEL_EXPORTER_OTLP_HEADERS: headers });
      expect(String(config.OTEL_EXPORTER_OTLP_HEADERS)).toBe('[redacted]');
      expect(tracingEnvironment(config)).toMatchObject({ OTEL_EXPORTER_OTLP_HEADERS: headers });
    },
  );

  it('reach the SDK as environment variables, with the default sampler', () => {
    expect(tracingEnvironment(load({ OTEL_TRACES_SAMPLER_ARG: '0.05' }))).toEqual({
      OTEL_SDK_DISABLED: 'false',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.05',
    });
  });
});
