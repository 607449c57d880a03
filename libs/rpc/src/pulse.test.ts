import { Code } from '@connectrpc/connect';
import { silentLog } from '@tessera/test-kit';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import type { ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { exchange } from './exchange.ts';
import type { Attempt } from './exchange.ts';
import { Pulse } from './pulse.ts';
import { connectPeer } from './remote.ts';
import { serve } from './serve.ts';
import { relayTo } from './testing/relay.ts';
import type { Relay } from './testing/relay.ts';
import { overMutualTls } from './testing/set-ups.ts';
import { createSubject, signRequest } from './testing/subject.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A replica behind a relay, and what it was asked. */
async function replica() {
  const subject = createSubject();
  const { built, log } = subject;
  const server = await serve(built, {
    host: '127.0.0.1',
    port: 0,
    credentials: { kind: 'none' },
    log,
    drainMs: 50,
  });
  cleanUps.push(() => server.drain());
  const relay = await relayTo(server);
  cleanUps.push(() => relay.close());
  const one = { subject, relay, calls: 0 };
  subject.sign = () => {
    one.calls += 1;
    return { tokens: [] };
  };
  subject.getPublicKeys = () => {
    one.calls += 1;
    return { keys: [] };
  };
  return one;
}

function peerOf(...relays: readonly Relay[]) {
  const target = relays.map(({ place }) => `${place.host}:${place.port}`).join(',');
  const peer = connectPeer({ target, as: 'token', credentials: { kind: 'none' }, log: silentLog() });
  cleanUps.push(() => peer.close());
  return peer;
}

/** What became of a call, and how many milliseconds it took. */
async function timed(call: Promise<unknown>): Promise<{ failure: unknown; tookMs: number }> {
  const began = performance.now();
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  return { failure, tookMs: performance.now() - began };
}

const refused = { code: 'temporarily_unavailable', retryAfterSeconds: 1 };

test('calls to a peer that fell silent are temporarily_unavailable within a second, and then at once', async () => {
  const one = await replica();
  const keys = peerOf(one.relay).client(KeysService);
  await keys.sign(signRequest());
  one.relay.silence();
  const all = await Promise.all([
    timed(keys.getPublicKeys({})),
    timed(keys.sign(signRequest())),
    sleep(300).then(() => timed(keys.sign(signRequest()))),
  ]);
  for (const { failure, tookMs } of all) {
    expect(failure).toMatchObject(refused);
    expect(tookMs).toBeLessThan(1_000);
  }
  const next = await timed(keys.sign(signRequest()));
  expect(next.failure).toMatchObject(refused);
  expect(next.tookMs).toBeLessThan(100);
});

test('a read that a silent replica kept goes to another one; what may have been done is not done again', async () => {
  const [silent, other] = [await replica(), await replica()];
  const keys = peerOf(silent.relay, other.relay).client(KeysService);
  while (silent.calls === 0 || other.calls === 0) await keys.sign(signRequest());
  silent.relay.silence();
  const before = silent.calls + other.calls;
  const reads = await Promise.all(Array.from({ length: 4 }, () => timed(keys.getPublicKeys({}))));
  for (const { failure, tookMs } of reads) {
    expect(failure).toBeUndefined();
    expect(tookMs).toBeLessThan(1_200);
  }
  expect(silent.calls + other.calls).toBe(before + 4);
  // Nobody waits for the silent one any more.
  for (let n = 0; n < 10; n += 1)
    expect(await timed(keys.sign(signRequest()))).toMatchObject({ failure: undefined });
  expect(other.calls).toBe(before - silent.calls + 14);
});

test('a write that a silent replica kept is refused, and was sent once', async () => {
  const [silent, other] = [await replica(), await replica()];
  const keys = peerOf(silent.relay, other.relay).client(KeysService);
  while (silent.calls === 0 || other.calls === 0) await keys.sign(signRequest());
  silent.relay.hold();
  const before = silent.calls + other.calls;
  const both = await Promise.all([timed(keys.sign(signRequest())), timed(keys.sign(signRequest()))]);
  const failures = both.filter(({ failure }) => failure !== undefined);
  expect(failures).toMatchObject([{ failure: refused }]);
  expect(failures[0]?.tookMs).toBeLessThan(1_000);
  expect(silent.calls + other.calls).toBe(before + 1);
});

test('a peer that speaks again takes calls again, on the same connection and with its streams', async () => {
  const one = await replica();
  const more = Promise.withResolvers<void>();
  one.subject.watchChanges = async function* () {
    yield { sequence: 1n };
    await more.promise;
    yield { sequence: 2n };
  };
  const peer = peerOf(one.relay);
  const changes = peer.client(DirectoryService).watchChanges({})[Symbol.asyncIterator]();
  expect((await changes.next()).value).toMatchObject({ sequence: 1n });
  const keys = peer.client(KeysService);
  one.relay.hold();
  expect((await timed(keys.sign(signRequest()))).failure).toMatchObject(refused);
  one.relay.speak();
  const began = performance.now();
  while ((await timed(keys.sign(signRequest()))).failure !== undefined) {
    expect(performance.now() - began).toBeLessThan(2_000);
    await sleep(10);
  }
  more.resolve();
  expect((await changes.next()).value).toMatchObject({ sequence: 2n });
});

test('a peer that is held up for half a second answers all the same', async () => {
  const one = await replica();
  const keys = peerOf(one.relay).client(KeysService);
  await keys.sign(signRequest());
  one.relay.hold();
  const calls = Array.from({ length: 3 }, () => timed(keys.sign(signRequest())));
  await sleep(500);
  one.relay.speak();
  for (const { failure } of await Promise.all(calls)) expect(failure).toBeUndefined();
});

test('an answer that takes its time is waited for, as long as its peer answers pings', async () => {
  const one = await replica();
  one.subject.sign = async () => {
    await sleep(1_500);
    return { tokens: ['late'] };
  };
  const keys = peerOf(one.relay).client(KeysService);
  await expect(keys.sign(signRequest())).resolves.toMatchObject({ tokens: ['late'] });
});

test('an answer that takes its time is waited for over mutual TLS', async () => {
  const subject = createSubject();
  subject.sign = async () => {
    await sleep(1_500);
    return { tokens: ['late'] };
  };
  const { client, close } = await overMutualTls(subject);
  cleanUps.push(close);
  await expect(client(KeysService, 'token').sign(signRequest())).resolves.toMatchObject({ tokens: ['late'] });
});

async function connected(port: number) {
  const socket = connectTcp(port, '127.0.0.1');
  const session = connect(`http://127.0.0.1:${port}`, { createConnection: () => socket });
  cleanUps.push(() => session.destroy());
  // The last that is said before there is a call.
  await once(session, 'localSettings');
  return { session, socket };
}

function attempt(): Attempt {
  return {
    path: '/service/Method',
    body: Buffer.alloc(0),
    headers: [':scheme', 'http', ':authority', 'peer'],
    deadline: Date.now() + 5_000,
    signal: undefined,
    maxMessageBytes: 100,
  };
}

const taken = { ':status': 200, 'grpc-status': Code.InvalidArgument, 'grpc-message': 'taken' };

/** A peer of its own thread. A call says how long it holds up all of it. */
const elsewhere = `
  const server = require('node:http2').createServer();
  server.on('stream', (stream, headers) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(headers['x-hold']));
    stream.respond({ ':status': 200, 'grpc-status': 3, 'grpc-message': 'taken' }, { endStream: true });
  });
  server.listen(0, '127.0.0.1', () => {
    require('node:worker_threads').parentPort.postMessage(server.address().port);
  });
`;

async function peerElsewhere() {
  const worker = new Worker(elsewhere, { eval: true });
  cleanUps.push(() => worker.terminate());
  const [port] = (await once(worker, 'message')) as [number];
  return connected(port);
}

/** Stops this process, but not other threads. */
function stop(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

test('what came while this process was stopped is read before a peer is called silent', async () => {
  const { session, socket } = await peerElsewhere();
  const turns: boolean[] = [];
  // A beat of 100 ms: asked after 400 ms, silent after 700 ms.
  const times = { askAfterMs: 400, silenceMs: 300 };
  const pulse = new Pulse(session, socket, times, (silent) => turns.push(silent));
  const { headers, ...rest } = attempt();
  const answer = exchange(session, { ...rest, headers: [...headers, 'x-hold', '680'] }, pulse);
  await sleep(650);
  // Behind the reading of this turn, and before the timers of the next one.
  setImmediate(() => stop(400));
  expect(await answer).toMatchObject({ status: { details: 'taken' } });
  expect(turns).toEqual([]);
});

test('a peer is asked only where an answer is long in coming', async () => {
  let pings = 0;
  const server = createServer().listen(0, '127.0.0.1');
  server.on('session', (session) => session.on('ping', () => (pings += 1)));
  server.on('stream', (stream: ServerHttp2Stream) => {
    setTimeout(() => stream.respond(taken, { endStream: true }), quick ? 0 : 300);
  });
  let quick = true;
  await once(server, 'listening');
  cleanUps.push(() => server.close());
  const { session, socket } = await connected((server.address() as AddressInfo).port);
  const pulse = new Pulse(session, socket, { askAfterMs: 80, silenceMs: 200 }, () => {});
  for (let n = 0; n < 30; n += 1) {
    await exchange(session, attempt(), pulse);
    await sleep(5);
  }
  await sleep(200);
  expect(pings).toBe(0);
  quick = false;
  expect(await exchange(session, attempt(), pulse)).toMatchObject({ status: { details: 'taken' } });
  expect(pings).toBeGreaterThan(0);
});
