import { loadSync } from '@grpc/proto-loader';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { otlpEncodings } from './otlp.ts';
import type { EndedSpan } from './span.ts';

/** The messages of OTLP as its protos number them (opentelemetry/proto, v1), read by a decoder that is not ours. */
const proto = `syntax = "proto3";
package opentelemetry;
service TraceService { rpc Export(ExportTraceServiceRequest) returns (ExportTraceServiceRequest); }
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; }
message InstrumentationScope { string name = 1; string version = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; } }
message Status { string message = 2; StatusCode code = 3; }
enum StatusCode { STATUS_CODE_UNSET = 0; STATUS_CODE_OK = 1; STATUS_CODE_ERROR = 2; }
enum SpanKind { SPAN_KIND_UNSPECIFIED = 0; SPAN_KIND_INTERNAL = 1; SPAN_KIND_SERVER = 2; SPAN_KIND_CLIENT = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  SpanKind kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; Status status = 15;
}`;

const directory = mkdtempSync(join(tmpdir(), 'otlp-'));
afterAll(() => rmSync(directory, { recursive: true }));

function decode(bytes: Buffer): unknown {
  const file = join(directory, 'trace.proto');
  writeFileSync(file, proto);
  const loaded = loadSync(file, { longs: String, enums: Number, bytes: String, keepCase: false });
  const service = loaded['opentelemetry.TraceService'] as unknown as {
    readonly Export: { requestDeserialize(bytes: Buffer): unknown };
  };
  return service.Export.requestDeserialize(bytes);
}

const root: EndedSpan = {
  context: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: true },
  parentSpanId: undefined,
  name: 'POST /token',
  kind: 'server',
  startMs: 1_795_000_000_000.125,
  endMs: 1_795_000_000_012.5,
  attributes: new Map<'http.route' | 'http.response.status_code', string | number>([
    ['http.route', '/token'],
    ['http.response.status_code', 503],
  ]),
  isFault: true,
};
const child: EndedSpan = {
  ...root,
  context: { ...root.context, spanId: '1111111111111111' },
  parentSpanId: root.context.spanId,
  name: 'token.redeem',
  kind: 'client',
  attributes: new Map(),
  isFault: false,
};
const resource = { 'service.name': 'tessera-gateway' };

describe('OTLP', () => {
  it('in JSON has hexadecimal ids and long numbers as texts (OTLP/HTTP, JSON Protobuf Encoding)', () => {
    const { contentType, encode } = otlpEncodings['http/json'];
    expect(contentType).toBe('application/json');
    const times = { startTimeUnixNano: '1795000000000125000', endTimeUnixNano: '1795000000012500000' };
    expect(JSON.parse(encode(resource, [root, child]).toString())).toEqual({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'tessera-gateway' } }] },
          scopeSpans: [
            {
              scope: { name: 'tessera' },
              spans: [
                {
                  traceId: root.context.traceId,
                  spanId: root.context.spanId,
                  name: 'POST /token',
                  kind: 2,
                  ...times,
                  attributes: [
                    { key: 'http.route', value: { stringValue: '/token' } },
                    { key: 'http.response.status_code', value: { intValue: '503' } },
                  ],
                  status: { code: 2 },
                },
                {
                  traceId: root.context.traceId,
                  spanId: '1111111111111111',
                  parentSpanId: root.context.spanId,
                  name: 'token.redeem',
                  kind: 3,
                  ...times,
                  attributes: [],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('in protobuf says the same', () => {
    const { contentType, encode } = otlpEncodings['http/protobuf'];
    expect(contentType).toBe('application/x-protobuf');
    const json = JSON.parse(otlpEncodings['http/json'].encode(resource, [root, child]).toString()) as unknown;
    const decoded = JSON.parse(
      JSON.stringify(decode(encode(resource, [root, child]))),
      (key, value: unknown) =>
        /^(traceId|spanId|parentSpanId)$/.test(key)
          ? Buffer.from(String(value), 'base64').toString('hex')
          : value,
    ) as unknown;
    expect(decoded).toMatchObject(withoutEmpty(json) as object);
  });
});

/** A list without members is not on the wire. */
function withoutEmpty(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, member: unknown) =>
    Array.isArray(member) && member.length === 0 ? undefined : member,
  );
}
