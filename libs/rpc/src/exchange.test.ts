import { Code } from '@connectrpc/connect';
import { once } from 'node:events';
import { connect, constants, createServer } from 'node:http2';
import type { ClientHttp2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { exchange, receive } from './exchange.ts';
import type { Attempt } from './exchange.ts';
import { framed } from './frames.ts';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
});

type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** A connection to a server that is no gRPC server but does what a test says. */
async function stand(answer: Answer): Promise<ClientHttp2Session> {
  const server = createServer().listen(0, '127.0.0.1');
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    stream.resume();
    answer(stream, headers);
  });
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on('error', () => {});
  cleanUps.push(
    () => server.close(),
    () => session.destroy(),
  );
  await once(session, 'remoteSettings');
  return session;
}

function attempt(changed: Partial<Attempt> = {}): Attempt {
  return {
    path: '/service/Method',
    body: Buffer.from('request'),
    headers: [':scheme', 'http', ':authority', 'peer:1', 'x-tessera-caller', 'token'],
    deadline: Date.now() + 5_000,
    signal: undefined,
    maxMessageBytes: 1_000,
    ...changed,
  };
}

/** An answer of these bytes and trailers. */
function answering(bytes: Buffer, trailers: Record<string, string> = { 'grpc-status': '0' }): Answer {
  return (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.end(bytes);
  };
}

const refusing =
  (headers: Record<string, string | number>): Answer =>
  (stream) =>
    stream.respond(headers, { endStream: true });

const resetting =
  (code: number): Answer =>
  (stream) =>
    stream.close(code);

test('a call says what the protocol asks for', async () => {
  let seen: IncomingHttpHeaders = {};
  const session = await stand((stream, headers) => {
    seen = headers;
    answering(framed(Buffer.from('answer')))(stream, headers);
  });
  const outcome = await exchange(session, attempt());
  expect(outcome).toMatchObject({ status: { code: 0 }, untouched: false });
  expect(outcome.message?.toString()).toBe('answer');
  expect(seen).toMatchObject({
    ':method': 'POST',
    ':path': '/service/Method',
    'content-type': 'application/grpc+proto',
    te: 'trailers',
    'x-tessera-caller': 'token',
  });
  expect(seen['grpc-timeout']).toMatch(/^(4\d{3}|5000)m$/);
});

test.each([
  [Infinity, undefined],
  [Date.now() + 2e8, /^\d{6}S$/],
])('the time that is left is said in eight digits at most (%s)', async (deadline, expected) => {
  let seen: IncomingHttpHeaders = {};
  const session = await stand((stream, headers) => {
    seen = headers;
    answering(framed(Buffer.alloc(0)))(stream, headers);
  });
  await exchange(session, attempt({ deadline }));
  if (expected === undefined) expect(seen['grpc-timeout']).toBeUndefined();
  else expect(seen['grpc-timeout']).toMatch(expected);
});

test('an answer is read whole, in however many pieces it comes', async () => {
  const bytes = framed(Buffer.from('a longer answer'));
  const session = await stand((stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    let at = 0;
    const timer = setInterval(() => {
      stream.write(bytes.subarray(at, (at += 4)));
      if (at < bytes.length) return;
      clearInterval(timer);
      stream.end();
    }, 2);
  });
  expect((await exchange(session, attempt())).message?.toString()).toBe('a longer answer');
});

test('a status brings its message and detail, written as any server writes them', async () => {
  const detail = Buffer.from([1, 2, 255]);
  const session = await stand(
    refusing({
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': 9,
      'grpc-message': 'not %23 now %C3%A4',
      'grpc-status-details-bin': detail.toString('base64').replaceAll('=', ''),
    }),
  );
  const { status } = await exchange(session, attempt());
  expect(status).toEqual({ code: Code.FailedPrecondition, details: 'not # now ä', detail });
});

const half = framed(Buffer.from('answer')).subarray(0, 7);
const compressed = Buffer.concat([Buffer.from([1]), framed(Buffer.from('answer')).subarray(1)]);

test.each<[string, Answer, Code]>([
  ['is half a message', answering(half), Code.Internal],
  ['is no message', answering(Buffer.alloc(0)), Code.Internal],
  [
    'is two messages',
    answering(Buffer.concat([framed(Buffer.alloc(1)), framed(Buffer.alloc(1))])),
    Code.Internal,
  ],
  ['is compressed, which nobody asked for', answering(compressed), Code.Internal],
  ['is over the limit', answering(framed(Buffer.alloc(1_001))), Code.ResourceExhausted],
  ['is without a status', answering(framed(Buffer.alloc(1)), {}), Code.Internal],
  ['has a status that is no number', refusing({ ':status': 200, 'grpc-status': '' }), Code.Unknown],
  ['is cut before it begins', resetting(constants.NGHTTP2_NO_ERROR), Code.Unavailable],
  ['is HTTP 503 of a proxy', refusing({ ':status': 503 }), Code.Unavailable],
  ['is HTTP 404 of a proxy', refusing({ ':status': 404 }), Code.Unimplemented],
  ['is HTTP 500 of a proxy', refusing({ ':status': 500 }), Code.Unknown],
  ['is cancelled', resetting(constants.NGHTTP2_CANCEL), Code.Unavailable],
  ['is a broken stream', resetting(constants.NGHTTP2_INTERNAL_ERROR), Code.Internal],
  ['asks for calm', resetting(constants.NGHTTP2_ENHANCE_YOUR_CALM), Code.ResourceExhausted],
  ['is a cut connection', (stream) => stream.session?.destroy(), Code.Unavailable],
  [
    'is a connection that ends with an error',
    (stream) => stream.session?.goaway(constants.NGHTTP2_INTERNAL_ERROR),
    Code.Unavailable,
  ],
])('an answer that %s has a status', async (_, answer, code) => {
  const session = await stand(answer);
  const outcome = await exchange(session, attempt());
  expect(outcome).toMatchObject({ status: { code }, message: undefined, untouched: false });
});

test('a stream that was refused was not touched (RFC 9113 section 8.7)', async () => {
  const session = await stand(resetting(constants.NGHTTP2_REFUSED_STREAM));
  const outcome = await exchange(session, attempt());
  expect(outcome).toMatchObject({ status: { code: Code.Unavailable }, untouched: true });
});

test('a call that was taken stays so, whatever code its connection ends with', async () => {
  const session = await stand((stream) => {
    stream.session?.goaway(constants.NGHTTP2_REFUSED_STREAM, stream.id);
  });
  expect(await exchange(session, attempt())).toMatchObject({
    status: { code: Code.Unavailable },
    untouched: false,
  });
});

test('a connection that has used up its ids, or is closed, sends nothing, says so and takes no more', async () => {
  let taken = 0;
  const session = await stand((stream, headers) => {
    taken += 1;
    answering(framed(Buffer.alloc(0)))(stream, headers);
  });
  // The types of Node do not have it.
  (session as ClientHttp2Session & { setNextStreamID(id: number): void }).setNextStreamID(2 ** 31 - 1);
  expect(await exchange(session, attempt())).toMatchObject({ status: { code: 0 } });
  for (let n = 0; n < 2; n += 1) {
    const outcome = await exchange(session, attempt());
    expect(outcome).toMatchObject({ status: { code: Code.Unavailable }, untouched: true });
    expect(session.closed).toBe(true);
  }
  expect(taken).toBe(1);
});

test('a call ends at its deadline although the peer says nothing, and tells the peer', async () => {
  const told = Promise.withResolvers<number | undefined>();
  const session = await stand((stream) => stream.on('close', () => told.resolve(stream.rstCode)));
  const began = Date.now();
  const { status } = await exchange(session, attempt({ deadline: began + 50 }));
  expect(status.code).toBe(Code.DeadlineExceeded);
  expect(Date.now() - began).toBeLessThan(1_000);
  expect(await told.promise).toBe(constants.NGHTTP2_CANCEL);
});

test('a stream of messages ends with its status as the return value', async () => {
  const session = await stand(
    answering(Buffer.concat([framed(Buffer.from('1')), framed(Buffer.from('2'))]), {
      'grpc-status': '14',
      'grpc-message': 'later',
    }),
  );
  const messages = receive(session, attempt());
  expect(await messages.next()).toMatchObject({ value: Buffer.from('1') });
  expect(await messages.next()).toMatchObject({ value: Buffer.from('2') });
  expect(await messages.next()).toMatchObject({
    done: true,
    value: { status: { code: 14, details: 'later' } },
  });
});

test('a stream that its consumer leaves keeps nothing, also when the peer has ended it', async () => {
  const session = await stand((stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.write(framed(Buffer.from('first')));
    setTimeout(() => stream.end(framed(Buffer.alloc(900))), 10);
  });
  for await (const message of receive(session, attempt({ deadline: Infinity }))) {
    expect(message.toString()).toBe('first');
    await sleep(50);
    break;
  }
  await new Promise<void>((resolve) => session.close(resolve));
});

test('a stream whose last message is cut off does not end well', async () => {
  const session = await stand(answering(Buffer.concat([framed(Buffer.from('1')), half])));
  const messages = receive(session, attempt());
  expect(await messages.next()).toMatchObject({ value: Buffer.from('1') });
  expect(await messages.next()).toMatchObject({ done: true, value: { status: { code: Code.Internal } } });
});

test.each<[string, Buffer, Code]>([
  ['over the limit', framed(Buffer.alloc(1_001)), Code.ResourceExhausted],
  ['that is compressed', compressed, Code.Unimplemented],
])('a stream with a message %s is given up', async (_, bytes, code) => {
  const left = Promise.withResolvers<void>();
  const session = await stand((stream) => {
    stream.respond({ ':status': 200 });
    stream.write(bytes);
    stream.on('close', () => left.resolve());
  });
  expect(await receive(session, attempt()).next()).toMatchObject({ done: true, value: { status: { code } } });
  await left.promise;
});
