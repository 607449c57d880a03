import { Code } from '@connectrpc/connect';
import { silentLog } from '@tessera/test-kit';
import { create, toBinary } from '@bufbuild/protobuf';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService, SignRequestSchema } from '@tessera/proto-gen/keys';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { Attempt } from './exchange.ts';
import { Replica } from './replica.ts';
import { Replicas } from './replicas.ts';
import type { ReplicasOptions } from './replicas.ts';
import { serve } from './serve.ts';
import type { RpcServer, ServeOptions } from './serve.ts';
import { relayTo } from './testing/relay.ts';
import type { Relay } from './testing/relay.ts';
import { createSubject, signRequest } from './testing/subject.ts';
import type { Subject } from './testing/subject.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Served {
  readonly subject: Subject;
  readonly server: RpcServer;
  calls: number;
}

/** A replica at this address of the loopback network. */
async function served(host: string, port = 0, options: Partial<ServeOptions> = {}): Promise<Served> {
  const subject = createSubject();
  const { built, log } = subject;
  const server = await serve(built, {
    host,
    port,
    credentials: { kind: 'none' },
    log,
    drainMs: 200,
    ...options,
  });
  cleanUps.push(() => server.drain());
  const one: Served = { subject, server, calls: 0 };
  subject.sign = () => {
    one.calls += 1;
    return { tokens: [] };
  };
  return one;
}

function replicasOf(options: Partial<ReplicasOptions>): Replicas {
  const replicas = new Replicas({ places: [], tls: undefined, log: silentLog(), ...options });
  cleanUps.push(() => replicas.close());
  return replicas;
}

function attempt(timeoutMs = 2_000): Attempt {
  return {
    path: `/${KeysService.typeName}/Sign`,
    body: Buffer.from(toBinary(SignRequestSchema, create(SignRequestSchema, signRequest()))),
    headers: [':scheme', 'http', ':authority', 'keys', 'x-tessera-caller', 'token'],
    deadline: Date.now() + timeoutMs,
    signal: undefined,
    maxMessageBytes: 10_000,
  };
}

/** One call to whose turn it is; the code of its status. */
async function call(replicas: Replicas, timeoutMs?: number): Promise<number> {
  const one = attempt(timeoutMs);
  const replica = replicas.next() ?? (await replicas.awaited(one.deadline, undefined));
  if (!(replica instanceof Replica)) return replica.code;
  const { status, untouched } = await replica.exchange(one);
  // As a peer does with it.
  return untouched ? call(replicas, timeoutMs) : status.code;
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 5_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await sleep(5);
  }
}

async function relayBefore(server: RpcServer): Promise<Relay> {
  const relay = await relayTo(server);
  cleanUps.push(() => relay.close());
  return relay;
}

test('calls go to all addresses of a name in turn', async () => {
  const first = await served('127.0.0.1');
  const { port } = first.server;
  const all = [first, await served('127.0.0.2', port), await served('127.0.0.3', port)];
  const replicas = replicasOf({
    places: [{ host: 'keys', port }],
    resolve: async () => ['127.0.0.1', '127.0.0.2', '127.0.0.3'],
  });
  await until('all are connected', async () => {
    await call(replicas);
    return all.every(({ calls }) => calls > 0);
  });
  for (const one of all) one.calls = 0;
  for (let n = 0; n < 30; n += 1) expect(await call(replicas)).toBe(0);
  expect(all.map(({ calls }) => calls)).toEqual([10, 10, 10]);
});

test('a new replica is found when a connection ends, and one that is gone from the name is left without a failed call', async () => {
  const old = await served('127.0.0.1', 0, { connectionAgeMs: 150 });
  const { port } = old.server;
  const added = await served('127.0.0.2', port);
  let addresses = ['127.0.0.1'];
  const replicas = replicasOf({
    places: [{ host: 'keys', port }],
    resolve: async () => addresses,
    times: { resolveMs: 10 },
  });
  expect(await call(replicas)).toBe(0);
  addresses = ['127.0.0.2'];
  await until('the new one is called', async () => {
    expect(await call(replicas)).toBe(0);
    return added.calls > 0;
  });
  await until('the old one is called no more', async () => {
    const before = old.calls;
    for (let n = 0; n < 10; n += 1) expect(await call(replicas)).toBe(0);
    return old.calls === before;
  });
});

test('a call that runs at a replica that is gone from the name ends well', async () => {
  const old = await served('127.0.0.1', 0, { connectionAgeMs: 50 });
  const { port } = old.server;
  const other = await served('127.0.0.2', port);
  const release = Promise.withResolvers<void>();
  old.subject.sign = async () => {
    old.calls += 1;
    await release.promise;
    return { tokens: [] };
  };
  let addresses = ['127.0.0.1'];
  const resolve = async () => addresses;
  const replicas = replicasOf({ places: [{ host: 'keys', port }], resolve, times: { resolveMs: 1 } });
  const running = call(replicas);
  await until('it runs', () => old.calls === 1);
  addresses = ['127.0.0.2'];
  await until('the other one is called', async () => (await call(replicas, 50)) === 0 && other.calls > 0);
  release.resolve();
  expect(await running).toBe(0);
});

test('a name that cannot be looked up fails calls at once, and is found when it can', async () => {
  const one = await served('127.0.0.1');
  let known = false;
  const replicas = replicasOf({
    places: [{ host: 'keys', port: one.server.port }],
    resolve: async () => (known ? ['127.0.0.1'] : Promise.reject(new Error('ENOTFOUND'))),
    times: { resolveMs: 20 },
  });
  const began = Date.now();
  expect(await call(replicas)).toBe(Code.Unavailable);
  expect(Date.now() - began).toBeLessThan(500);
  known = true;
  await until('it is found', async () => (await call(replicas)) === 0);
});

test('a name that cannot be looked up any more keeps its replicas', async () => {
  const one = await served('127.0.0.1', 0, { connectionAgeMs: 30 });
  let lookUps = 0;
  const replicas = replicasOf({
    places: [{ host: 'keys', port: one.server.port }],
    resolve: async () => {
      lookUps += 1;
      return lookUps === 1 ? ['127.0.0.1'] : Promise.reject(new Error('ENOTFOUND'));
    },
    times: { resolveMs: 5 },
  });
  await until('it was looked up again', async () => {
    expect(await call(replicas)).toBe(0);
    return lookUps > 3;
  });
});

test('a name is looked up again for as long as what was found does not answer', async () => {
  const one = await served('127.0.0.2');
  const found = [['127.0.0.9'], [], ['127.0.0.9'], ['127.0.0.9'], ['127.0.0.2']];
  const replicas = replicasOf({
    places: [{ host: 'keys', port: one.server.port }],
    resolve: async () => found.shift() ?? ['127.0.0.2'],
    times: { resolveMs: 20 },
  });
  expect(await call(replicas)).toBe(Code.Unavailable);
  await until('it is found', async () => (await call(replicas)) === 0);
});

test('a host that takes connections and says nothing costs calls the patience, not their deadline', async () => {
  const hole = createServer().listen(0, '127.0.0.1');
  await once(hole, 'listening');
  cleanUps.push(() => hole.close());
  const { port } = hole.address() as AddressInfo;
  const times = { patienceMs: 60, connectMs: 200 };
  const replicas = replicasOf({ places: [{ host: '127.0.0.1', port }], times });
  const began = Date.now();
  expect(await call(replicas, 5_000)).toBe(Code.Unavailable);
  expect(Date.now() - began).toBeLessThan(2_000);
  const again = Date.now();
  expect(await call(replicas, 5_000)).toBe(Code.Unavailable);
  expect(Date.now() - again).toBeLessThan(50);
});

test('a replica that went silent is left at the missed ping, and taken again when it speaks', async () => {
  const one = await served('127.0.0.1');
  const relay = await relayBefore(one.server);
  const times = { pingAfterMs: 30, pingTimeoutMs: 50, patienceMs: 100, connectMs: 150 };
  const replicas = replicasOf({ places: [relay.place], times });
  expect(await call(replicas)).toBe(0);
  relay.silence();
  const began = Date.now();
  expect(await call(replicas, 5_000)).toBe(Code.Unavailable);
  expect(Date.now() - began).toBeLessThan(2_000);
  relay.speak();
  await until('it is back', async () => (await call(replicas)) === 0);
});

test('a silent replica that is left ends its streams', async () => {
  const one = await served('127.0.0.1');
  one.subject.watchChanges = async function* () {
    yield { sequence: 1n };
    await new Promise(() => {});
  };
  const relay = await relayBefore(one.server);
  const replicas = replicasOf({ places: [relay.place], times: { leavingMs: 50 } });
  const replica = await replicas.awaited(Infinity, undefined);
  if (!(replica instanceof Replica)) throw new Error(replica.details);
  const path = `/${DirectoryService.typeName}/WatchChanges`;
  const messages = replica.receive({ ...attempt(), path, body: Buffer.alloc(0), deadline: Infinity });
  expect(await messages.next()).toMatchObject({ done: false });
  relay.silence();
  replicas.close();
  expect(await messages.next()).toMatchObject({ done: true, value: { status: { code: Code.Unavailable } } });
});

test('a replica that reads nothing any more is left, however much waits to be written', async () => {
  const [settings, acknowledged] = [
    Buffer.from('000000040000000000', 'hex'),
    Buffer.from('000000040100000000', 'hex'),
  ];
  const sockets: Socket[] = [];
  const deaf = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.write(Buffer.concat([settings, acknowledged]));
    // The first connection only; what comes after it would be the same again.
    if (sockets.length === 1) socket.pause();
    else socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(deaf, 'listening');
  cleanUps.push(() => {
    deaf.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = deaf.address() as AddressInfo;
  // Long enough for a busy machine to write all of them before.
  const times = { pingAfterMs: 2_000, pingTimeoutMs: 100, askAfterMs: 20_000 };
  const replicas = replicasOf({ places: [{ host: '127.0.0.1', port }], times });
  const replica = await replicas.awaited(Infinity, undefined);
  if (!(replica instanceof Replica)) throw new Error(replica.details);
  const headers = [...attempt().headers, 'x-long', 'x'.repeat(8_000)];
  // Headers are not held back by any window: they fill the buffers of the kernel.
  const calls = Array.from({ length: 2_000 }, () => replica.exchange({ ...attempt(300), headers }));
  for (const { status } of await Promise.all(calls)) expect(status.code).toBe(Code.DeadlineExceeded);
  await until('it is left', () => sockets.length > 1);
});

test('an answer that takes longer than a ping is waited for, also on a connection that was asked to leave', async () => {
  const one = await served('127.0.0.1', 0, { connectionAgeMs: 30 });
  one.subject.sign = async () => {
    await sleep(300);
    return { tokens: [] };
  };
  const times = { pingAfterMs: 20, pingTimeoutMs: 100 };
  const replicas = replicasOf({ places: [{ host: '127.0.0.1', port: one.server.port }], times });
  expect(await call(replicas)).toBe(0);
});

test('a replica that fails far more often than the others gets no calls for a while', async () => {
  const first = await served('127.0.0.1');
  const { port } = first.server;
  const broken = await served('127.0.0.2', port);
  broken.subject.sign = () => {
    broken.calls += 1;
    throw new Error('broken');
  };
  const replicas = replicasOf({
    places: [{ host: 'keys', port }],
    resolve: async () => ['127.0.0.1', '127.0.0.2'],
    times: { compareMs: 150, ejectedMs: 300 },
  });
  const codes: number[] = [];
  const batch = async () =>
    codes.push(...(await Promise.all(Array.from({ length: 10 }, () => call(replicas)))));
  await until('the broken one is ejected', async () => {
    codes.length = 0;
    for (let n = 0; n < 5; n += 1) await batch();
    return first.calls > 100 && codes.every((code) => code === 0);
  });
  const before = broken.calls;
  await until('it has another chance', async () => {
    await batch();
    return broken.calls > before;
  });
});

test('a call that waits for a connection ends when its caller gives up', async () => {
  const hole = createServer().listen(0, '127.0.0.1');
  await once(hole, 'listening');
  cleanUps.push(() => hole.close());
  const { port } = hole.address() as AddressInfo;
  const replicas = replicasOf({ places: [{ host: '127.0.0.1', port }], times: { connectMs: 500 } });
  const giveUp = new AbortController();
  setTimeout(() => giveUp.abort(), 20);
  expect(await replicas.awaited(Infinity, giveUp.signal)).toMatchObject({ code: Code.Canceled });
});

test('a call that waits for a connection ends when it is closed', async () => {
  const replicas = replicasOf({ places: [{ host: 'keys', port: 1 }], resolve: () => new Promise(() => {}) });
  const waiting = replicas.awaited(Infinity, undefined);
  replicas.close();
  expect(await waiting).toMatchObject({ code: Code.Unavailable });
});
