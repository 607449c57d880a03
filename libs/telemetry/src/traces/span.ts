import { admitAttribute, admitName } from './attributes.ts';
import type { AttributeName, Attributes, AttributeValue } from './attributes.ts';
import type { TraceContext } from './trace-context.ts';

export type SpanKind = 'internal' | 'server' | 'client';

export interface SpanOptions {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
}

/** A span as it is exported. Times are milliseconds since the Unix epoch, with fractions. */
export interface EndedSpan {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: ReadonlyMap<AttributeName, AttributeValue>;
  /** It failed for a reason on our side; what a client did wrong is told by `error.type` alone. */
  readonly isFault: boolean;
}

/** The wall clock and the steady one at the same moment: durations within a process do not jump when clocks are set. */
interface Anchor {
  readonly wallMs: number;
  readonly steadyMs: number;
}

/** Something that takes time in the course of one request. Only what is sampled has one. */
export class Span implements EndedSpan {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly attributes = new Map<AttributeName, AttributeValue>();
  readonly anchor: Anchor;
  endMs = 0;
  isFault = false;

  constructor(
    options: SpanOptions,
    context: TraceContext,
    parentSpanId: string | undefined,
    anchor: Anchor = { wallMs: Date.now(), steadyMs: performance.now() },
  ) {
    this.context = context;
    this.parentSpanId = parentSpanId;
    this.name = admitName(options.name);
    this.kind = options.kind;
    this.anchor = anchor;
    this.startMs = this.#now();
    for (const [name, value] of Object.entries(options.attributes ?? {}))
      this.set(name as AttributeName, value);
  }

  get ended(): boolean {
    return this.endMs !== 0;
  }

  /** Without effect for what may not be said, and once the span ended. */
  set(name: AttributeName, value: AttributeValue): void {
    const admitted = this.ended ? undefined : admitAttribute(name, value);
    if (admitted !== undefined) this.attributes.set(name, admitted);
  }

  end(): void {
    this.endMs = this.#now();
  }

  #now(): number {
    return this.anchor.wallMs + performance.now() - this.anchor.steadyMs;
  }
}
