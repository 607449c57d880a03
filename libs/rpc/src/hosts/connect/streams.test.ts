import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { asOptions, bufCurlUntil, headersOf, servedOverConnect } from '../../testing/over-connect.ts';
import { createSubject } from '../../testing/subject.ts';
import { TrialService, TrialStreamService } from '../../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const transports = [
  ['Connect', (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '1.1' })],
  ['Connect over HTTP/2', (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '2' })],
  ['gRPC', (baseUrl: string) => createGrpcTransport({ baseUrl })],
] as const;

const headers = headersOf('token');

async function stand(options: Parameters<typeof servedOverConnect>[2] = {}) {
  const subject = createSubject();
  const ended = Promise.withResolvers<void>();
  const served = await servedOverConnect(subject, cleanUps, options);
  return { subject, ended, ...served };
}

/** Asks for changes over HTTP/1.1, and reads nothing. */
async function watchUnread(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const fields = { host: 'a', 'content-type': 'application/connect+json', 'content-length': '7', ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const path = '/tessera.trial.v1.TrialStreamService/Watch';
  socket.pause().write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n\0\0\0\0\u0002{}`);
  return socket;
}

test.each(transports)('a stream over %s ends with its handler', async (_protocol, transportTo) => {
  const { subject, url } = await stand();
  subject.watch = async function* (request) {
    for (let n = 1n; n <= 200n; n += 1n) yield { sequence: request.afterSequence + n };
  };
  const seen: bigint[] = [];
  const client = createClient(TrialStreamService, transportTo(url));
  for await (const { sequence } of client.watch({ afterSequence: 5n }, { headers })) seen.push(sequence);
  expect(seen).toEqual(Array.from({ length: 200 }, (_, n) => BigInt(n + 6)));
});

test.each(transports)(
  'a stream over %s whose reader leaves ends its handler that waits for something to send',
  async (_protocol, transportTo) => {
    const { subject, ended, url } = await stand();
    subject.watch = async function* (_request, { signal }) {
      try {
        yield { sequence: 1n };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      } finally {
        ended.resolve();
      }
    };
    const client = createClient(TrialStreamService, transportTo(url));
    const leave = new AbortController();
    const responses = client.watch({}, { headers, signal: leave.signal })[Symbol.asyncIterator]();
    expect(await responses.next()).toMatchObject({ value: { sequence: 1n } });
    leave.abort();
    await ended.promise;
  },
);

test('a stream whose reader leaves ends its handler that has more than the reader took', async () => {
  const { subject, ended, server } = await stand();
  let sent = 0;
  subject.watch = async function* () {
    try {
      for (;;) {
        sent += 1;
        yield { id: 'x'.repeat(100_000) };
      }
    } finally {
      ended.resolve();
    }
  };
  const socket = await watchUnread(server.port);
  // Without a reader, what is sent fills the buffers on the way.
  for (let before = 0; sent === 0 || before !== sent; await sleep(200)) before = sent;
  socket.destroy();
  await ended.promise;
});

test('a stream ends its handler when the connection breaks before the first message', async () => {
  const { subject, ended, server } = await stand();
  const started = Promise.withResolvers<void>();
  subject.watch = async function* (_request, { signal }) {
    started.resolve();
    try {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield* [];
    } finally {
      ended.resolve();
    }
  };
  const socket = await watchUnread(server.port);
  await started.promise;
  socket.destroy();
  await ended.promise;
});

test('a client of HTTP/2 that resets its stream with an error ends its handler alone', async () => {
  const { subject, ended, url } = await stand();
  subject.watch = async function* (_request, { signal }) {
    try {
      yield { sequence: 1n };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      ended.resolve();
    }
  };
  const session = connectHttp2(url);
  cleanUps.push(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': '/tessera.trial.v1.TrialStreamService/Watch',
    'content-type': 'application/connect+json',
    ...headers,
  });
  stream.on('error', () => undefined);
  stream.end('\0\0\0\0\u0002{}');
  await once(stream, 'data');
  stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  await ended.promise;
  subject.write = () => ({ texts: ['still here'] });
  const writing = createClient(TrialService, createGrpcTransport({ baseUrl: url })).write({}, { headers });
  expect((await writing).texts).toEqual(['still here']);
});

test.each(transports)('a stream over %s ends at its deadline', async (_protocol, transportTo) => {
  const { subject, ended, url } = await stand();
  subject.watch = async function* (_request, { signal }) {
    try {
      yield { sequence: 1n };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      ended.resolve();
    }
  };
  const read = async () => {
    const client = createClient(TrialStreamService, transportTo(url));
    for await (const _ of client.watch({}, { headers, timeoutMs: 300 }));
  };
  await expect(read()).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  await ended.promise;
});

test('buf curl that is stopped ends its stream', async () => {
  const { subject, ended, url } = await stand();
  const started = Promise.withResolvers<void>();
  subject.watch = async function* (_request, { signal }) {
    started.resolve();
    try {
      yield { sequence: 1n };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      ended.resolve();
    }
  };
  const path = '/tessera.trial.v1.TrialStreamService/Watch';
  const stop = new AbortController();
  const watched = bufCurlUntil(stop.signal, ...asOptions(headers), '-d', '{}', `${url}${path}`);
  await started.promise;
  stop.abort();
  expect((await watched).code).not.toBe(0);
  await ended.promise;
});

test.each(transports)(
  'draining ends streams over %s and waits for other calls',
  async (_protocol, transportTo) => {
    const { subject, ended, url, server } = await stand({ drainMs: 10_000 });
    const working = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    subject.watch = async function* (_request, { signal }) {
      try {
        yield { sequence: 1n };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      } finally {
        ended.resolve();
      }
    };
    subject.write = async () => {
      working.resolve();
      await finish.promise;
      return { texts: ['done'] };
    };
    const transport = transportTo(url);
    const watch = createClient(TrialStreamService, transport).watch({}, { headers });
    const responses = watch[Symbol.asyncIterator]();
    await responses.next();
    const writing = createClient(TrialService, transport).write({}, { headers });
    await working.promise;
    const before = Date.now();
    const drained = server.drain();
    await expect(responses.next()).rejects.toMatchObject({ code: Code.Unavailable });
    await ended.promise;
    finish.resolve();
    expect((await writing).texts).toEqual(['done']);
    await drained;
    expect(Date.now() - before).toBeLessThan(5_000);
    const late = createClient(TrialService, transportTo(url)).write({}, { headers });
    await expect(late).rejects.toThrow();
  },
);

test('draining cuts what does not end', async () => {
  const { subject, url, server } = await stand({ drainMs: 200 });
  const working = Promise.withResolvers<void>();
  subject.write = () => {
    working.resolve();
    return new Promise(() => {});
  };
  const client = createClient(TrialService, createConnectTransport({ baseUrl: url, httpVersion: '1.1' }));
  const cut = expect(client.write({}, { headers })).rejects.toThrow();
  await working.promise;
  const before = Date.now();
  await server.drain();
  expect(Date.now() - before).toBeLessThan(30_000);
  await cut;
});
