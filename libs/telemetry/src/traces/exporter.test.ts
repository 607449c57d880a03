import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../log/log.ts';
import { metrics } from '../metrics/index.ts';
import { createExporter } from './exporter.ts';
import type { ExporterOptions } from './exporter.ts';
import { otlpEncodings } from './otlp.ts';
import type { EndedSpan } from './span.ts';

interface Posted {
  readonly headers: IncomingHttpHeaders;
  readonly spans: readonly { readonly name: string }[];
}

type Answer = (response: ServerResponse) => void;

const take: Answer = (response) => void response.writeHead(200).end('{}');
const answer =
  (status: number): Answer =>
  (response) =>
    void response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('no');
const never: Answer = () => undefined;

/** A collector on loopback that answers as it is told. */
async function collector(first: Answer = take) {
  const posted: Posted[] = [];
  const state = { answer: first };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        resourceSpans: [{ scopeSpans: [{ spans: { name: string }[] }] }];
      };
      posted.push({ headers: request.headers, spans: body.resourceSpans[0].scopeSpans[0].spans });
      state.answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { posted, state, url: `http://127.0.0.1:${port}/v1/traces` };
}

function open(url: string, options: Partial<ExporterOptions> = {}) {
  const lines: string[] = [];
  const log = createLogger(
    { service: 'test', level: 'info' },
    { write: (line: string) => void lines.push(line) },
  );
  const exporter = createExporter({
    url,
    encoding: otlpEncodings['http/json'],
    headers: {},
    resource: { 'service.name': 'test' },
    log,
    flushAfterMs: 10,
    retryAfterMs: 20,
    timeoutMs: 200,
    closeMs: 300,
    ...options,
  });
  onTestFinished(() => exporter.close());
  return { exporter, lines };
}

let made = 0;
function span(): EndedSpan {
  made += 1;
  const context = { traceId: 'a'.repeat(32), spanId: made.toString(16).padStart(16, '0'), sampled: true };
  return {
    context,
    parentSpanId: undefined,
    name: `s${made}`,
    kind: 'internal',
    startMs: 1,
    endMs: 2,
    attributes: new Map(),
    isFault: false,
  };
}
const spans = (count: number) => Array.from({ length: count }, span);

const countOf = (name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics.text())?.[1] ?? 0);
const dropped = () => countOf('tessera_spans_dropped_total');
const received = ({ posted }: { posted: readonly Posted[] }) =>
  posted.flatMap((one) => one.spans.map(({ name }) => name));

describe('the exporter of traces', () => {
  it('posts what ended, gathered, with the headers that it was given', async () => {
    const to = await collector();
    const { exporter, lines } = open(to.url, { headers: { authorization: 'Bearer collector' } });
    const all = spans(700);
    const before = countOf('tessera_spans_exported_total');
    for (const one of all) exporter.add(one);
    await expect.poll(() => received(to).length).toBe(700);
    expect(received(to)).toEqual(all.map(({ name }) => name));
    expect(to.posted).toHaveLength(2);
    expect(to.posted[0]?.headers).toMatchObject({
      authorization: 'Bearer collector',
      'content-type': 'application/json',
    });
    await expect.poll(() => countOf('tessera_spans_exported_total') - before).toBe(700);
    expect(lines).toEqual([]);
  });

  it('keeps a bounded number while the collector is away, says so once, and goes on when it is back', async () => {
    const to = await collector(answer(503));
    const { exporter, lines } = open(to.url, { maxQueued: 10 });
    const before = dropped();
    for (const one of spans(30)) exporter.add(one);
    expect(dropped() - before).toBe(20);
    await expect.poll(() => to.posted.length).toBeGreaterThan(3);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/"level":"warn".*"status":503.*traces do not reach the collector/);
    to.state.answer = take;
    await expect.poll(() => lines.length).toBe(2);
    expect(lines[1]).toContain('traces reach the collector again');
    const last = to.posted.length;
    exporter.add(span());
    await expect.poll(() => to.posted.length).toBeGreaterThan(last);
    expect(dropped() - before).toBe(20);
  });

  it.each([
    ['that listens nowhere', undefined],
    ['that never answers', never],
    ['that sends elsewhere', answer(307)],
  ])('does without a collector %s', async (_what, first) => {
    const url = first === undefined ? 'http://127.0.0.1:1/v1/traces' : (await collector(first)).url;
    const { exporter, lines } = open(url);
    for (const one of spans(5)) exporter.add(one);
    await expect.poll(() => lines.length, { timeout: 3000 }).toBe(1);
    expect(lines[0]).toContain('traces do not reach the collector');
  });

  it('drops what the collector refuses, counted, so that what follows is sent', async () => {
    const to = await collector(answer(400));
    const { exporter, lines } = open(to.url);
    const before = dropped();
    for (const one of spans(5)) exporter.add(one);
    await expect.poll(() => dropped() - before).toBe(5);
    expect(lines).toHaveLength(1);
    to.state.answer = take;
    const next = span();
    exporter.add(next);
    await expect.poll(() => received(to).at(-1)).toBe(next.name);
  });

  it('sends what is left when it is closed, and counts what comes after', async () => {
    const to = await collector();
    const { exporter } = open(to.url, { flushAfterMs: 60_000 });
    const all = spans(600);
    for (const one of all) exporter.add(one);
    await exporter.close();
    expect(received(to)).toHaveLength(600);
    const before = dropped();
    exporter.add(span());
    expect(dropped() - before).toBe(1);
  });

  it.each([
    ['before a request', 60_000],
    ['during a request', 1],
  ])('is closed within its time when a collector hangs, %s', async (_when, flushAfterMs) => {
    const to = await collector(never);
    const { exporter } = open(to.url, { flushAfterMs, timeoutMs: 60_000 });
    const before = dropped();
    for (const one of spans(3)) exporter.add(one);
    if (flushAfterMs === 1) await expect.poll(() => to.posted.length).toBe(1);
    const started = performance.now();
    await exporter.close();
    expect(performance.now() - started).toBeLessThan(2000);
    expect(dropped() - before).toBe(3);
  });
});
