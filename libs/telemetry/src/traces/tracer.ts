import { AsyncLocalStorage } from 'node:async_hooks';
import type { Random } from '@tessera/kit';
import { failureOf } from './failure.ts';
import { Span } from './span.ts';
import type { EndedSpan, SpanOptions } from './span.ts';
import type { TraceContext } from './trace-context.ts';
import type { Tracer } from './tracing.ts';

export interface TracerOptions {
  /** Share of the requests that are traced, 0 to 1, where no caller decided it. */
  readonly ratio: number;
  readonly random: Random;
  /** Takes spans as they end. Must neither throw nor wait. */
  export(span: EndedSpan): void;
}

/** Spans of one process. The current one follows the course of asynchronous work by itself. */
export function createTracer({ ratio, random, export: take }: TracerOptions): Tracer {
  const running = new AsyncLocalStorage<Span>();
  const newId = (bytes: number): string => random.bytes(bytes).toString('hex');

  /** The trace of what enters the system here: the caller's, as it decided, or a new one for a share of the requests. */
  function root(options: SpanOptions, parent: TraceContext | undefined): Span | undefined {
    if (parent !== undefined) {
      if (!parent.sampled) return undefined;
      return new Span(options, { traceId: parent.traceId, spanId: newId(8), sampled: true }, parent.spanId);
    }
    const traceId = newId(16);
    if (Number.parseInt(traceId.slice(-8), 16) >= ratio * 2 ** 32) return undefined;
    return new Span(options, { traceId, spanId: newId(8), sampled: true }, undefined);
  }

  /** What goes on after a request was answered, such as writing gathered rows, is no part of it. */
  function current(): Span | undefined {
    const span = running.getStore();
    return span?.ended === true ? undefined : span;
  }

  function end(span: Span): void {
    if (span.ended) return;
    span.end();
    take(span);
  }

  async function within<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
    if (span === undefined) return work();
    try {
      return await running.run(span, work);
    } catch (error) {
      const { code, isFault } = failureOf(error);
      span.set('error.type', code);
      span.isFault = isFault;
      throw error;
    } finally {
      end(span);
    }
  }

  return {
    current,
    root,
    run: (span, work) => running.run(span, work),
    end,
    inRoot: (options, parent, work) => within(root(options, parent), work),
    inChild: (options, work) => {
      const parent = current();
      if (parent === undefined) return work();
      const context = { ...parent.context, spanId: newId(8) };
      return within(new Span(options, context, parent.context.spanId, parent.anchor), work);
    },
  };
}
