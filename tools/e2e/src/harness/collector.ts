import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { freePort } from '@tessera/test-kit/provision';

/** A span as an OpenTelemetry collector receives it. */
export interface ReceivedSpan {
  /** `service.name` of the process that exported it. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly isFault: boolean;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string | number };
}

interface OtlpSpan extends Omit<ReceivedSpan, 'service' | 'attributes' | 'isFault'> {
  readonly attributes: readonly OtlpAttribute[];
  readonly status?: { readonly code: number };
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** An OTLP/HTTP JSON receiver on loopback that can fail on demand. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  /** Everything that was posted. */
  text = '';
  /** `silent`: accepts requests and never answers. */
  mode: 'taking' | 'silent' = 'taking';
  requests = 0;
  #server: Server | undefined;
  #port = 0;

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens; again on the same port after `stop`. */
  async start(): Promise<this> {
    if (this.#port === 0) this.#port = await freePort();
    const server = createServer((request, response) => void this.#take(request, response));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    return this;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await new Promise((resolve) => {
      if (server === undefined) return resolve(undefined);
      server.close(resolve);
      server.closeAllConnections();
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // Cut off, by `stop` or by its sender.
      return;
    }
    if (this.mode === 'silent') return;
    if (request.method !== 'POST' || request.url !== '/v1/traces') {
      response.writeHead(404).end();
      return;
    }
    const body = Buffer.concat(chunks).toString('utf8');
    this.text += body;
    this.spans.push(...read(JSON.parse(body) as OtlpRequest));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }
}

function read({ resourceSpans }: OtlpRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = plain(resource.attributes)['service.name'] ?? '';
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ attributes, status, ...span }) => ({
        ...span,
        parentSpanId: span.parentSpanId,
        service,
        attributes: plain(attributes),
        isFault: status?.code === 2,
      }));
  });
}

function plain(attributes: readonly OtlpAttribute[]): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? String(value.intValue ?? '')]),
  );
}
