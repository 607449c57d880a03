import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { AttributeValue } from './attributes.ts';
import type { EndedSpan, SpanKind } from './span.ts';

/**
 * The two encodings of `ExportTraceServiceRequest` (OTLP 1.x, opentelemetry/proto/trace/v1/trace.proto). Numbers of
 * fields and values of enumerations are those of its protos.
 */
export interface OtlpEncoding {
  readonly contentType: string;
  encode(resource: Resource, spans: readonly EndedSpan[]): Buffer;
}

/** Who reports: names of the semantic conventions, such as `service.name`. */
export type Resource = Readonly<Record<string, string>>;

export type OtlpProtocol = 'http/protobuf' | 'http/json';

const scope = 'tessera';
const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };
const statusError = 2;

export const otlpEncodings: Readonly<Record<OtlpProtocol, OtlpEncoding>> = {
  'http/json': {
    contentType: 'application/json',
    encode: (resource, spans) => Buffer.from(JSON.stringify(asJson(resource, spans))),
  },
  'http/protobuf': {
    contentType: 'application/x-protobuf',
    encode: (resource, spans) => Buffer.from(asProtobuf(resource, spans)),
  },
};

/** Nanoseconds since the Unix epoch; a number holds microseconds of this century exactly. */
function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1000)) * 1000n;
}

function asJson(resource: Resource, spans: readonly EndedSpan[]): object {
  const scopeSpans = [{ scope: { name: scope }, spans: spans.map(jsonSpan) }];
  return {
    resourceSpans: [{ resource: { attributes: jsonAttributes(Object.entries(resource)) }, scopeSpans }],
  };
}

/** Ids are hexadecimal and 64-bit numbers are texts (OTLP, "JSON Protobuf Encoding"). */
function jsonSpan(span: EndedSpan): object {
  return {
    traceId: span.context.traceId,
    spanId: span.context.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: String(nanoseconds(span.startMs)),
    endTimeUnixNano: String(nanoseconds(span.endMs)),
    attributes: jsonAttributes(span.attributes),
    ...(span.isFault ? { status: { code: statusError } } : {}),
  };
}

function jsonAttributes(attributes: Iterable<readonly [string, AttributeValue]>): object[] {
  return [...attributes].map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}

function asProtobuf(resource: Resource, spans: readonly EndedSpan[]): Uint8Array {
  const writer = new BinaryWriter();
  message(writer, 1, () => {
    message(writer, 1, () => protobufAttributes(writer, 1, Object.entries(resource)));
    message(writer, 2, () => {
      message(writer, 1, () => writer.tag(1, WireType.LengthDelimited).string(scope));
      for (const span of spans) message(writer, 2, () => protobufSpan(writer, span));
    });
  });
  return writer.finish();
}

function protobufSpan(writer: BinaryWriter, span: EndedSpan): void {
  writer.tag(1, WireType.LengthDelimited).bytes(Buffer.from(span.context.traceId, 'hex'));
  writer.tag(2, WireType.LengthDelimited).bytes(Buffer.from(span.context.spanId, 'hex'));
  if (span.parentSpanId !== undefined)
    writer.tag(4, WireType.LengthDelimited).bytes(Buffer.from(span.parentSpanId, 'hex'));
  writer.tag(5, WireType.LengthDelimited).string(span.name);
  writer.tag(6, WireType.Varint).int32(kinds[span.kind]);
  writer.tag(7, WireType.Bit64).fixed64(nanoseconds(span.startMs));
  writer.tag(8, WireType.Bit64).fixed64(nanoseconds(span.endMs));
  protobufAttributes(writer, 9, span.attributes);
  if (span.isFault) message(writer, 15, () => writer.tag(3, WireType.Varint).int32(statusError));
}

function protobufAttributes(
  writer: BinaryWriter,
  field: number,
  attributes: Iterable<readonly [string, AttributeValue]>,
): void {
  for (const [key, value] of attributes) {
    message(writer, field, () => {
      writer.tag(1, WireType.LengthDelimited).string(key);
      message(writer, 2, () => {
        if (typeof value === 'number') writer.tag(3, WireType.Varint).int64(value);
        else writer.tag(1, WireType.LengthDelimited).string(value);
      });
    });
  }
}

function message(writer: BinaryWriter, field: number, content: () => unknown): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  content();
  writer.join();
}
