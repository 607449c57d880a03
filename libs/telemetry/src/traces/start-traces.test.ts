import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLogger } from '../log/log.ts';
import { metrics } from '../metrics/metrics.ts';
import { startTracing } from './start-traces.ts';
import type { OtlpProtocol } from './start-traces.ts';
import { tracedRoot } from './tracing.ts';

interface Posted {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A collector over HTTP; `status` 0 never answers. */
async function collector(status = 200) {
  const posted: Posted[] = [];
  const state = { status };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      posted.push({ path: request.url, headers: request.headers, body: Buffer.concat(chunks) });
      if (state.status !== 0) response.writeHead(state.status).end('{}');
    });
  });
  onTestFinished(() => server.closeAllConnections());
  return { posted, state, endpoint: await listen(server) };
}

async function start(environment: Record<string, string>, protocol: OtlpProtocol = 'http/json') {
  const settings = { OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_EXPORTER_OTLP_TIMEOUT: '300', ...environment };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const lines: string[] = [];
  const log = createLogger({ service: 'test', level: 'info' }, { write: (line) => void lines.push(line) });
  const stop = await startTracing(protocol, { name: 'test', log });
  onTestFinished(stop);
  return { stop, lines };
}

const work = async (times = 1): Promise<void> => {
  for (let time = 0; time < times; time += 1)
    await tracedRoot({ name: 'POST /token', kind: 'server' }, undefined, async () => undefined);
};

async function countOf(what: 'exported' | 'dropped'): Promise<number> {
  const line = new RegExp(`^tessera_spans_${what}_total (\\d+)$`, 'm').exec(await metrics.text());
  return Number(line?.[1] ?? 0);
}

describe('traces that are on', () => {
  it('follow the variables of OpenTelemetry: endpoint, headers, compression, name and resource', async () => {
    const { posted, endpoint } = await collector();
    await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector,x-tenant=a',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.namespace=ours',
    });
    await work();
    await expect.poll(() => posted.length).toBe(1);
    const { path, headers, body } = posted[0] ?? { body: Buffer.alloc(0) };
    expect(path).toBe('/v1/traces');
    expect(headers).toMatchObject({ authorization: 'Bearer collector', 'x-tenant': 'a' });
    const text = gunzipSync(body).toString();
    expect(text).toContain('{"key":"service.name","value":{"stringValue":"tessera-test"}}');
    expect(text).toContain('{"key":"service.namespace","value":{"stringValue":"ours"}}');
    expect(text).toContain('{"key":"deployment.environment.name","value":{"stringValue":"staging"}}');
    expect(text).toMatch(/"service.instance.id","value":\{"stringValue":"[0-9a-f-]{36}"/);
  });

  it.each([
    ['always_off', '', 0],
    ['traceidratio', '0', 0],
    ['always_on', '', 5],
  ])('sample as %s %s says', async (sampler, share, expected) => {
    const { endpoint } = await collector();
    const before = await countOf('exported');
    const { stop } = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: share,
    });
    await work(5);
    await stop();
    expect((await countOf('exported')) - before).toBe(expected);
  });

  it('are sent in protobuf, to a full URL for traces', async () => {
    const { posted, endpoint } = await collector();
    await start(
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/here`, OTEL_SERVICE_NAME: 'mine' },
      'http/protobuf',
    );
    await work();
    await expect.poll(() => posted.length).toBe(1);
    expect(posted[0]?.path).toBe('/here');
    expect(posted[0]?.headers['content-type']).toBe('application/x-protobuf');
    expect(posted[0]?.body.toString('latin1')).toMatch(/service\.name[^]*mine[^]*POST \/token/);
  });

  it('report a setting that the SDK cannot use, at the start', async () => {
    const { endpoint } = await collector();
    const { lines } = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'brotli',
    });
    const [line = '{}'] = lines;
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', message: 'cannot use a setting of traces' });
    expect(line).toContain('OTEL_EXPORTER_OTLP_COMPRESSION');
  });

  it('are sent over gRPC', async () => {
    const paths: (string | undefined)[] = [];
    const server = createHttp2Server();
    server.on('session', (session) => onTestFinished(() => session.destroy()));
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      paths.push(headers[':path']);
      stream.on('data', () => undefined).on('error', () => undefined);
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.end(Buffer.alloc(5));
    });
    const before = await countOf('exported');
    await start(
      { OTEL_EXPORTER_OTLP_ENDPOINT: await listen(server), OTEL_EXPORTER_OTLP_TIMEOUT: '5000' },
      'grpc',
    );
    await work();
    await expect.poll(async () => (await countOf('exported')) - before).toBe(1);
    expect(paths).toEqual(['/opentelemetry.proto.collector.trace.v1.TraceService/Export']);
  });
});

describe('an unavailable collector', () => {
  it.each([
    ['refuses', 400],
    ['never answers', 0],
  ])('or %s is reported once, its spans are counted, and later ones arrive', async (_how, status) => {
    const { state, endpoint } = await collector(status);
    const [exported, dropped] = [await countOf('exported'), await countOf('dropped')];
    const { lines } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
    for (const count of [3, 2]) {
      await work(count);
      await expect.poll(async () => (await countOf('dropped')) - dropped).toBe(count === 3 ? 3 : 5);
    }
    state.status = 200;
    await work(4);
    await expect.poll(async () => (await countOf('exported')) - exported).toBe(4);
    const messages = lines.map((line) => (JSON.parse(line) as { message: string }).message);
    expect(messages).toEqual(['traces are on', 'cannot export traces', 'trace export recovered']);
  });

  it('has a bounded number of spans waiting for it, and more are counted', async () => {
    const { endpoint } = await collector(0);
    const dropped = await countOf('dropped');
    await start({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_MAX_QUEUE_SIZE: '10' });
    await work(30);
    expect((await countOf('dropped')) - dropped).toBe(20);
  });

  it('holds up the end for two seconds at most', async () => {
    const { endpoint } = await collector(0);
    const dropped = await countOf('dropped');
    const { stop } = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    });
    await work(3);
    const started = performance.now();
    await stop();
    expect(performance.now() - started).toBeGreaterThan(1500);
    expect((await countOf('dropped')) - dropped).toBe(3);
  });
});
