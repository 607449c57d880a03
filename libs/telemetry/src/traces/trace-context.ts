/** The place of a span among all (W3C Trace Context §3.2): what a caller hands to whom it calls. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether spans of this trace are recorded. */
  readonly sampled: boolean;
}

/** Header and metadata key. */
export const traceparentKey = 'traceparent';

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;

/** Reads a `traceparent`; undefined for whatever is none (W3C Trace Context §3.2.2, §4.3: versions to come may be longer). */
export function parseTraceparent(value: unknown): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    typeof value === 'string' && value.length <= 512 ? (traceparent.exec(value) ?? []) : [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
