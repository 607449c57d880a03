import { Code } from '@connectrpc/connect';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { ServiceDefinition, UntypedHandleCall } from '@grpc/grpc-js';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { once } from 'node:events';
import { constants, createServer as createHttp2Server } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { openRemoteService } from './remote.ts';
import { serve } from '../hosts/grpc/serve-grpc.ts';
import { createSubject, writeRequest } from '../testing/subject.ts';
import type { Subject } from '../testing/subject.ts';
import { TrialService, TrialStreamService } from '../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const unavailable = { code: status.UNAVAILABLE, details: 'restarting' };

test('a read is retried if its peer was briefly unavailable', async () => {
  const peer = await stockServer([unavailable, unavailable, undefined]);
  await expect(peer.trial.read({})).resolves.toMatchObject({ entries: [] });
  expect(peer.attempts()).toBe(3);
});

test('a read is given up after three attempts', async () => {
  const peer = await stockServer([...Array.from({ length: 3 }, () => unavailable), undefined]);
  await expect(peer.trial.read({})).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  expect(peer.attempts()).toBe(3);
});

test('a call with side effects is sent once', async () => {
  const peer = await stockServer([unavailable, undefined]);
  await expect(peer.trial.write(writeRequest())).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  expect(peer.attempts()).toBe(1);
});

test('a read is sent once more if its peer dies between the message and the status, and nothing else is', async () => {
  const remote = await bareServer((stream, attempts) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    if (attempts === 2) {
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(emptyMessage);
    } else {
      stream.write(emptyMessage, () => setTimeout(() => stream.session?.destroy(), 100));
    }
  });
  const client = remote.client(TrialService);
  await expect(client.read({})).resolves.toMatchObject({ entries: [] });
  await expect(client.write(writeRequest())).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  expect(remote.attempts()).toBe(3);
});

/** An empty message as gRPC frames it. */
const emptyMessage = Buffer.alloc(5);

test.each(['a call', 'a stream'])(
  '%s that the server did not take is sent again at once, whatever it changes (RFC 9113 section 8.7)',
  async (kind) => {
    const remote = await bareServer((stream, attempts) => {
      if (attempts === 1) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(emptyMessage);
    });
    if (kind === 'a stream') expect(await all(remote.client(TrialStreamService).watch({}))).toHaveLength(1);
    else
      await expect(remote.client(TrialService).write(writeRequest())).resolves.toMatchObject({ texts: [] });
    expect(remote.attempts()).toBe(2);
  },
);

test.each([
  ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM],
  ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM],
  ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
  ['CANCEL', constants.NGHTTP2_CANCEL],
  ['INADEQUATE_SECURITY', constants.NGHTTP2_INADEQUATE_SECURITY],
  ['PROTOCOL_ERROR', constants.NGHTTP2_PROTOCOL_ERROR],
  ['NO_ERROR, but no status', constants.NGHTTP2_NO_ERROR],
])('a call or stream that the transport ends with %s is temporarily_unavailable', async (_, code) => {
  const remote = await bareServer((stream) => stream.close(code));
  const unavailable = { name: 'OAuthError', code: 'temporarily_unavailable' };
  await expect(remote.client(TrialService).write(writeRequest())).rejects.toMatchObject(unavailable);
  await expect(all(remote.client(TrialStreamService).watch({}))).rejects.toMatchObject(unavailable);
});

test.each([400, 401, 403, 404, 429, 502, 200])(
  'a call or stream that a proxy answers with HTTP %i instead of gRPC is temporarily_unavailable',
  async (httpStatus) => {
    const remote = await bareServer((stream) => {
      stream.respond({ ':status': httpStatus, 'content-type': 'text/plain' });
      stream.end();
    });
    const unavailable = { name: 'OAuthError', code: 'temporarily_unavailable' };
    await expect(remote.client(TrialService).write(writeRequest())).rejects.toMatchObject(unavailable);
    await expect(all(remote.client(TrialStreamService).watch({}))).rejects.toMatchObject(unavailable);
  },
);

test('a limit of the transport is temporarily_unavailable, a limit of the service is its own error', async () => {
  const peer = await stockServer([{ code: status.RESOURCE_EXHAUSTED, details: 'too many streams' }]);
  await expect(peer.trial.write(writeRequest())).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  const subject = createSubject();
  subject.write = () => {
    throw new OAuthError('rate_limited', 'Too many requests.', { retryAfterSeconds: 7 });
  };
  const trial = await served(subject);
  await expect(trial.write(writeRequest())).rejects.toMatchObject({
    code: 'rate_limited',
    retryAfterSeconds: 7,
  });
});

test('a stream that was cut after a message is not retried', async () => {
  const remote = await bareServer((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.write(emptyMessage, () => setTimeout(() => stream.close(constants.NGHTTP2_REFUSED_STREAM), 20));
  });
  const changes = remote.client(TrialStreamService).watch({});
  await expect(all(changes)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  expect(remote.attempts()).toBe(1);
});

test('a read that was refused for another reason is sent once', async () => {
  const peer = await stockServer([{ code: status.FAILED_PRECONDITION, details: 'no' }, undefined]);
  await expect(peer.trial.read({})).rejects.toMatchObject({ name: 'ConnectError' });
  expect(peer.attempts()).toBe(1);
});

test('a call that its peer cancelled, and not its caller, is temporarily_unavailable', async () => {
  const peer = await stockServer([{ code: status.CANCELLED, details: 'no more' }]);
  await expect(peer.trial.write(writeRequest())).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});

test('a read whose handler answers temporarily_unavailable is not retried', async () => {
  const subject = createSubject();
  let attempts = 0;
  subject.read = () => {
    attempts += 1;
    throw temporarilyUnavailable(undefined, 3);
  };
  const trial = await served(subject);
  await expect(trial.read({})).rejects.toMatchObject({
    code: 'temporarily_unavailable',
    retryAfterSeconds: 3,
  });
  expect(attempts).toBe(1);
});

test('an unreachable peer is temporarily_unavailable at once, and the cause stays private', async () => {
  const peer = openRemoteService({ target: '127.0.0.1:1', as: 'token', credentials: { kind: 'none' } });
  cleanUps.push(() => peer.close());
  const before = Date.now();
  const failure: unknown = await peer
    .client(TrialService)
    .write(writeRequest())
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'temporarily_unavailable', retryAfterSeconds: 1 });
  expect(String(failure)).not.toContain('127.0.0.1');
  expect(Date.now() - before).toBeLessThan(1_500);
});

test('a unary call without a time-out has the default one', async () => {
  const subject = createSubject();
  const deadlines: number[] = [];
  subject.write = (_, context) => {
    deadlines.push(context.deadline - Date.now());
    return {};
  };
  const trial = await served(subject);
  await trial.write(writeRequest());
  await trial.write(writeRequest(), { timeoutMs: 0 });
  expect(deadlines[0]).toBeGreaterThan(1_000);
  expect(deadlines[0]).toBeLessThanOrEqual(2_000);
  expect(deadlines[1]).toBe(Infinity);
});

test('if a server dies during a call, the call is temporarily_unavailable and the client finds a new one', async () => {
  const subject = createSubject();
  const arrived = Promise.withResolvers<void>();
  subject.write = () => {
    arrived.resolve();
    return new Promise(() => {});
  };
  const first = await serve(subject.built, { ...onLoopback(subject), drainMs: 10 });
  const peer = openRemoteService({
    target: `127.0.0.1:${first.port}`,
    as: 'token',
    credentials: { kind: 'none' },
  });
  cleanUps.push(() => peer.close());
  const trial = peer.client(TrialService);
  const before = Date.now();
  // Far beyond the limit below: it is the server that ends the call.
  const cut = trial.write(writeRequest(), { timeoutMs: 60_000 });
  await arrived.promise;
  await Promise.all([expect(cut).rejects.toMatchObject({ code: 'temporarily_unavailable' }), first.drain()]);

  expect(Date.now() - before).toBeLessThan(30_000);

  subject.write = () => ({ texts: ['back'] });
  const second = await serve(subject.built, { ...onLoopback(subject), port: first.port });
  cleanUps.push(() => second.drain());
  const answer = async (): Promise<string | undefined> => {
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const response = await trial.write(writeRequest()).catch(() => undefined);
      if (response !== undefined) return response.texts[0];
      await sleep(50);
    }
    return undefined;
  };
  expect(await answer()).toBe('back');
});

test('a call that is cancelled before there is a connection never reaches the handler', async () => {
  const subject = createSubject();
  let reached = 0;
  subject.write = () => {
    reached += 1;
    return {};
  };
  const trial = await served(subject);
  const giveUp = new AbortController();
  const call = trial.write(writeRequest(), { signal: giveUp.signal, timeoutMs: 0 });
  giveUp.abort();
  await expect(call).rejects.toMatchObject({ code: Code.Canceled });
  await trial.write(writeRequest());
  expect(reached).toBe(1);
});

test('calls on a closed peer are temporarily_unavailable', async () => {
  const peer = openRemoteService({ target: '127.0.0.1:1', as: 'token', credentials: { kind: 'none' } });
  await peer.close();
  await expect(peer.client(TrialService).write(writeRequest())).rejects.toMatchObject({
    code: 'temporarily_unavailable',
  });
});

test('a message over the limit is refused, not sent', async () => {
  const subject = createSubject();
  subject.write = () => ({});
  const trial = await served(subject, { maxMessageBytes: 1_000 });
  await expect(trial.write(writeRequest(2_000))).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  await expect(trial.write(writeRequest(500))).resolves.toMatchObject({ texts: [] });
});

function onLoopback(subject: Subject) {
  return { host: '127.0.0.1', port: 0, credentials: { kind: 'none' as const }, log: subject.log };
}

async function served(subject: Subject, limits: { maxMessageBytes?: number } = {}) {
  const server = await serve(subject.built, { ...onLoopback(subject), ...limits });
  const peer = openRemoteService({
    target: `127.0.0.1:${server.port}`,
    as: 'token',
    credentials: { kind: 'none' },
  });
  cleanUps.push(
    () => server.drain(),
    () => peer.close(),
  );
  return peer.client(TrialService);
}

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const message of messages) taken.push(message);
  return taken;
}

/** A server without gRPC, which is given each stream with its number. */
async function bareServer(take: (stream: ServerHttp2Stream, attempts: number) => void) {
  let attempts = 0;
  const server = createHttp2Server().listen(0, '127.0.0.1');
  server.on('stream', (stream: ServerHttp2Stream) => {
    attempts += 1;
    stream.on('error', () => {}).resume();
    take(stream, attempts);
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const remote = openRemoteService({
    target: `127.0.0.1:${port}`,
    as: 'token',
    credentials: { kind: 'none' },
  });
  cleanUps.push(
    () => void server.close(),
    () => remote.close(),
  );
  return { client: remote.client, attempts: () => attempts };
}

/** A grpc-js server without our code, which answers each attempt in turn: a status, or an empty message. */
async function stockServer(answers: ({ code: status; details: string } | undefined)[]) {
  let attempts = 0;
  const answer: UntypedHandleCall = (_: unknown, respond: (error: object | null, value?: Buffer) => void) => {
    const refusal = answers[attempts];
    attempts += 1;
    if (refusal === undefined) respond(null, Buffer.alloc(0));
    else respond(refusal);
  };
  const server = new Server();
  server.addService(stockDefinition(), { Read: answer, Write: answer });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  const peer = openRemoteService({ target: `127.0.0.1:${port}`, as: 'token', credentials: { kind: 'none' } });
  cleanUps.push(
    () => server.forceShutdown(),
    () => peer.close(),
  );
  return { trial: peer.client(TrialService), attempts: () => attempts };
}

function stockDefinition(): ServiceDefinition {
  const bytes = (value: Buffer): Buffer => value;
  const method = (name: string) => ({
    path: `/tessera.trial.v1.TrialService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  });
  return { Read: method('Read'), Write: method('Write') };
}
