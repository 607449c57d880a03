import type { Logger } from 'pino';
import { metrics } from '../metrics/index.ts';
import type { OtlpEncoding, Resource } from './otlp.ts';
import type { EndedSpan } from './span.ts';

export interface Exporter {
  /** Never throws and never waits. */
  add(span: EndedSpan): void;
  /** Sends what is left, for two seconds at most. */
  close(): Promise<void>;
}

export interface ExporterOptions {
  /** Where traces are posted. */
  readonly url: string;
  readonly encoding: OtlpEncoding;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Resource;
  readonly log: Logger;
  /** Spans kept while the collector is away; more are dropped and counted. */
  readonly maxQueued?: number;
  readonly flushAfterMs?: number;
  readonly retryAfterMs?: number;
  readonly timeoutMs?: number;
  readonly closeMs?: number;
}

const exported = metrics.counter({
  name: 'tessera_spans_exported_total',
  help: 'Spans that the collector of traces took.',
});
const dropped = metrics.counter({
  name: 'tessera_spans_dropped_total',
  help: 'Spans that are missing in the traces: the collector was away for too long, or refused them.',
});

const defaults = { maxQueued: 4096, flushAfterMs: 1000, retryAfterMs: 5000, timeoutMs: 5000, closeMs: 2000 };
const maxSpans = 512;
/** Answers after which the same request may be sent again (OTLP/HTTP, "Retryable Response Codes"). */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Posts ended spans in batches (OTLP/HTTP), one request at a time. Its trouble is a line of the log, and numbers. */
export function createExporter(options: ExporterOptions): Exporter {
  return new BatchExporter(options);
}

type Outcome = 'taken' | 'later' | 'refused';

class BatchExporter implements Exporter {
  readonly #options: ExporterOptions & typeof defaults;
  readonly #closing = new AbortController();
  #queue: EndedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<boolean> | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(options: ExporterOptions) {
    this.#options = { ...defaults, ...options };
  }

  add(span: EndedSpan): void {
    if (this.#isClosed || this.#queue.length >= this.#options.maxQueued) return dropped.inc();
    this.#queue.push(span);
    this.#schedule(this.#options.flushAfterMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#closing.abort(), this.#options.closeMs);
    if ((await this.#sending) ?? true) await this.#flush();
    clearTimeout(timer);
    dropped.inc(this.#queue.splice(0).length);
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#isClosed || this.#queue.length === 0) return;
    this.#timer = setTimeout(() => {
      void this.#flush().then((done) => {
        this.#timer = undefined;
        this.#schedule(done ? this.#options.flushAfterMs : this.#options.retryAfterMs);
      });
    }, delayMs);
    this.#timer.unref();
  }

  /** One sender at a time; true when everything was sent. */
  #flush(): Promise<boolean> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<boolean> {
    while (this.#queue.length > 0) {
      const spans = this.#queue.slice(0, maxSpans);
      const outcome = await this.#send(spans);
      if (outcome === 'later') return false;
      this.#queue = this.#queue.slice(spans.length);
      (outcome === 'taken' ? exported : dropped).inc(spans.length);
    }
    return true;
  }

  async #send(spans: readonly EndedSpan[]): Promise<Outcome> {
    const { url, encoding, headers, resource, timeoutMs } = this.#options;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': encoding.contentType },
        body: encoding.encode(resource, spans),
        redirect: 'error',
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal]),
      });
      await response.body?.cancel();
      if (response.ok) return this.#recovered();
      this.#failed({ status: response.status });
      return retryable.has(response.status) ? 'later' : 'refused';
    } catch (error) {
      this.#failed({ error });
      return 'later';
    }
  }

  #recovered(): Outcome {
    if (this.#isFailing) this.#options.log.info('traces reach the collector again');
    this.#isFailing = false;
    return 'taken';
  }

  /** One line, however many attempts follow. */
  #failed(why: object): void {
    if (!this.#isFailing) this.#options.log.warn(why, 'traces do not reach the collector');
    this.#isFailing = true;
  }
}
