import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { create, toBinary } from '@bufbuild/protobuf';
import { KeysService, SignRequestSchema } from '@tessera/proto-gen/keys';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { Connections } from './connections.ts';
import { serve } from './serve.ts';
import { createSubject, signRequest } from './testing/subject.ts';

const cleanUps: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const signPath = `/${KeysService.typeName}/Sign`;
const maxMessageBytes = 10_000;

/** A server whose method tells how long the payload was, and how often it was reached. */
async function stand() {
  const subject = createSubject();
  const reached: number[] = [];
  subject.sign = (request) => {
    reached.push(request.items[0]?.payload.length ?? 0);
    return { tokens: ['answer'] };
  };
  const server = await serve(subject.built, {
    host: '127.0.0.1',
    port: 0,
    credentials: { kind: 'none' },
    log: subject.log,
    drainMs: 100,
    maxMessageBytes,
  });
  cleanUps.push(() => server.drain());
  return { subject, reached, port: server.port };
}

function message(payloadLength: number): Buffer {
  return Buffer.from(toBinary(SignRequestSchema, create(SignRequestSchema, signRequest(payloadLength))));
}

function frame(bytes: Buffer, compressed = false): Buffer {
  const prefix = Buffer.from([compressed ? 1 : 0, 0, 0, 0, 0]);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

const headersOfCall = {
  ':method': 'POST',
  ':path': signPath,
  'content-type': 'application/grpc',
  te: 'trailers',
  'x-tessera-caller': 'token',
};

/** One call by bare HTTP/2; the status of gRPC is in the headers or in the trailers. */
async function bareCall(port: number, pieces: readonly Buffer[], headers: OutgoingHttpHeaders = {}) {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  cleanUps.push(() => session.destroy());
  const stream = session.request({ ...headersOfCall, ...headers });
  const received: IncomingHttpHeaders = {};
  const note = (more: IncomingHttpHeaders) => void Object.assign(received, more);
  stream.on('response', note).on('trailers', note).resume();
  for (const piece of pieces) {
    stream.write(piece);
    await sleep(1);
  }
  stream.end();
  await once(stream, 'close');
  return { http: received[':status'], status: Number(received['grpc-status'] ?? NaN) };
}

test('a message is read whole, in however many pieces it comes', async () => {
  const { port, reached } = await stand();
  const bytes = frame(message(50));
  const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  expect(await bareCall(port, pieces)).toEqual({ http: 200, status: status.OK });
  expect(reached).toEqual([50]);
});

test.each([
  ['no message', []],
  ['an empty frame header', [Buffer.alloc(3)]],
  ['two messages', [frame(message(1)), frame(message(2))]],
  ['less than a message', [frame(message(5)).subarray(0, -1)]],
])('a request of %s is refused', async (_, pieces) => {
  const { port, reached } = await stand();
  expect(await bareCall(port, pieces)).toEqual({ http: 200, status: status.UNIMPLEMENTED });
  expect(reached).toEqual([]);
});

test('a message over the limit is refused before all of it came', async () => {
  const { port, reached } = await stand();
  const answer = await bareCall(port, [frame(message(200_000))]);
  expect(answer).toEqual({ http: 200, status: status.RESOURCE_EXHAUSTED });
  expect(reached).toEqual([]);
});

test.each([
  ['deflate', 1],
  ['gzip', 2],
])('a stock client may compress its messages with %s', async (_, algorithm) => {
  const { port, reached } = await stand();
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.default_compression_algorithm': algorithm,
  });
  cleanUps.push(() => client.close());
  const metadata = new Metadata();
  metadata.set('x-tessera-caller', 'token');
  const same = (bytes: Buffer) => bytes;
  const code = await new Promise((resolve) => {
    client.makeUnaryRequest(signPath, same, same, message(3_000), metadata, (error) =>
      resolve(error?.code ?? 0),
    );
  });
  expect(code).toBe(status.OK);
  expect(reached).toEqual([3_000]);
});

test.each([
  ['that grows over the limit', gzipSync(message(200_000)), 'gzip', status.RESOURCE_EXHAUSTED],
  ['that is none', Buffer.from('no gzip'), 'gzip', status.INTERNAL],
  ['by a way nobody here knows', Buffer.from('x'), 'constructor', status.UNIMPLEMENTED],
  ['by no way', message(1), 'identity', status.UNIMPLEMENTED],
])('a compressed message %s is refused', async (_, bytes, encoding, code) => {
  const { port, reached } = await stand();
  const answer = await bareCall(port, [frame(bytes, true)], { 'grpc-encoding': encoding });
  expect(answer).toEqual({ http: 200, status: code });
  expect(reached).toEqual([]);
});

test.each(['', '5', '5x', '-1m', '123456789m'])('the time-out "%s" is refused', async (timeout) => {
  const { port, reached } = await stand();
  const answer = await bareCall(port, [frame(message(1))], { 'grpc-timeout': timeout });
  expect(answer).toEqual({ http: 200, status: status.INTERNAL });
  expect(reached).toEqual([]);
});

test.each(['2S', '99999999H', '30000m'])('the time-out "%s" leaves time to answer', async (timeout) => {
  const { port } = await stand();
  const answer = await bareCall(port, [frame(message(1))], { 'grpc-timeout': timeout });
  expect(answer).toEqual({ http: 200, status: status.OK });
});

test('a call is answered at its deadline whether or not its handler is done', async () => {
  const { port, subject } = await stand();
  const told = Promise.withResolvers<void>();
  subject.sign = (_, { signal }) => {
    signal.addEventListener('abort', () => told.resolve());
    return new Promise(() => {});
  };
  const answer = await bareCall(port, [frame(message(1))], { 'grpc-timeout': '40m' });
  expect(answer).toEqual({ http: 200, status: status.DEADLINE_EXCEEDED });
  await told.promise;
});

test('calls that are reset at any moment disturb no other', async () => {
  const { port, subject } = await stand();
  subject.sign = async () => {
    await sleep(Math.random() * 10);
    return { tokens: ['x'.repeat(5_000)] };
  };
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  cleanUps.push(() => session.destroy());
  const resets = Array.from({ length: 300 }, async (_, at) => {
    const stream = session.request({ ...headersOfCall, 'grpc-timeout': '8m' });
    stream.on('error', () => {}).resume();
    stream.write(frame(message(1)));
    if (at % 3 > 0) stream.end();
    await sleep(Math.random() * 12);
    stream.close(constants.NGHTTP2_CANCEL);
  });
  await Promise.all(resets);
  expect(await bareCall(port, [frame(message(1))])).toEqual({ http: 200, status: status.OK });
});

test('what is no gRPC is refused in HTTP', async () => {
  const { port, reached } = await stand();
  const answer = await bareCall(port, [frame(message(1))], { 'content-type': 'application/json' });
  expect(answer).toEqual({ http: 415, status: NaN });
  expect(reached).toEqual([]);
});

test('a method that does not exist is unimplemented', async () => {
  const { port } = await stand();
  const answer = await bareCall(port, [frame(message(1))], { ':path': `${signPath}2` });
  expect(answer).toEqual({ http: 200, status: status.UNIMPLEMENTED });
});

test('a connection whose peer answers no ping is cut, and one that answers is not', async () => {
  const { log } = createSubject();
  const options = { methods: new Map(), maxMessageBytes, ageMs: 60_000, log };
  const connections = new Connections({ ...options, pingAfterMs: 20, pingTimeoutMs: 100 });
  const listening = createServer((socket) => connections.add(socket, () => undefined)).listen(0, '127.0.0.1');
  cleanUps.push(() => void listening.close());
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const alive = connectHttp2(`http://127.0.0.1:${port}`);
  cleanUps.push(() => alive.destroy());
  const silent = connect(port, '127.0.0.1');
  silent.on('error', () => {}).resume();
  const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  silent.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), emptySettings]));
  await once(silent, 'close');
  expect(alive.destroyed).toBe(false);
});
