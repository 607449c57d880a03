import { once } from 'node:events';
import { request } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { headersOf, servedOverConnect } from '../../testing/over-connect.ts';
import { createSubject } from '../../testing/subject.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const path = '/tessera.trial.v1.TrialService/Read';
const json = { ...headersOf('token'), 'content-type': 'application/json' };

async function stand(options: Parameters<typeof servedOverConnect>[2] = {}) {
  const subject = createSubject();
  subject.read = () => ({ entries: [] });
  const { server } = await servedOverConnect(subject, cleanUps, options);
  return { subject, port: server.port };
}

/** A connection that sends this much. */
async function opened(port: number, sent: string, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  cleanUps.push(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (sent !== '') socket.write(sent);
  return socket;
}

/** Waits for the end of a connection, a reset as well: whoever writes to a cut one gets that. */
async function cut(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

/** The status of a call on a connection of its own; 0 if it was cut. */
async function called(port: number, localAddress: string): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      { port, host: '127.0.0.1', localAddress, path, method: 'POST', agent: false, headers: json },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    sent.on('error', () => resolve(0)).end('{}');
  });
}

const head = [`POST ${path} HTTP/1.1`, 'host: a', 'content-type: application/json'].join('\r\n');
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

test.each([
  ['nothing', ''],
  ['part of a head', head],
  ['the preface of HTTP/2 alone', preface],
])('1,000 connections that send %s keep out no caller from another address', async (_what, sent) => {
  const { port } = await stand();
  for (let opening = 0; opening < 20; opening += 1)
    await Promise.all(Array.from({ length: 50 }, () => opened(port, sent)));
  const statuses: number[] = [];
  for (let call = 0; call < 100; call += 1) statuses.push(await called(port, '127.0.0.2'));
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
});

test('connections that come again as fast as they are cut keep out no caller from another address', async () => {
  const { port } = await stand({ places: { connections: 50 } });
  let ended = false;
  cleanUps.push(() => void (ended = true));
  const again = async (): Promise<void> => {
    while (!ended) {
      const socket = await opened(port, head).catch(() => undefined);
      if (socket !== undefined) await cut(socket);
    }
  };
  for (let silent = 0; silent < 100; silent += 1) void again();
  const statuses: number[] = [];
  for (let call = 0; call < 100; call += 1) statuses.push(await called(port, '127.0.0.2'));
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
});

test.each([
  ['another', '127.0.0.2'],
  ['their own', '127.0.0.1'],
])(
  'a caller who was let in keeps the connection when every place is taken, from %s address',
  async (_whose, address) => {
    const { port } = await stand({ places: { connections: 20 } });
    const session = await http2To(port);
    expect(await callOver(session)).toBe(200);
    for (let silent = 0; silent < 60; silent += 1) await opened(port, head, address);
    expect(await callOver(session)).toBe(200);
  },
);

test.each([
  ['nothing', ''],
  ['part of a head', head],
  ['the preface of HTTP/2 alone', preface],
])('a connection that sends %s is cut', async (_what, sent) => {
  const { port } = await stand({ places: { headMs: 100 } });
  const socket = await opened(port, sent);
  await cut(socket);
});

test('a head that comes byte by byte is cut', async () => {
  const { port } = await stand({ places: { headMs: 100 } });
  const socket = await opened(port, head);
  const drip = setInterval(() => socket.write('\r\na: b'), 10);
  cleanUps.push(() => clearInterval(drip));
  await cut(socket);
});

test.each(['HTTP/1.1', 'HTTP/2'])('a refused caller of %s keeps no connection', async (protocol) => {
  const { port } = await stand({ places: { headMs: 200 } });
  if (protocol === 'HTTP/1.1') {
    // The rest of the body never comes.
    const socket = await opened(port, `${head}\r\ncontent-length: 10\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 401 /);
    await cut(socket);
    return;
  }
  const session = await http2To(port);
  const closed = once(session, 'close');
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json' });
  stream.on('error', () => undefined);
  const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
  expect(answer[':status']).toBe(401);
  await closed;
});

test.each(['HTTP/1.1', 'HTTP/2'])(
  'a call over %s is cut whose message never comes whole',
  async (protocol) => {
    const { port, subject } = await stand({ bodyMs: 200 });
    let reached = 0;
    subject.read = () => {
      reached += 1;
      return { entries: [] };
    };
    if (protocol === 'HTTP/1.1') {
      const given = Object.entries(headersOf('token')).map(([name, value]) => `${name}: ${value}`);
      const socket = await opened(port, [head, ...given, 'content-length: 1000', '', '{'].join('\r\n'));
      const drip = setInterval(() => socket.write(' '), 20);
      cleanUps.push(() => clearInterval(drip));
      await cut(socket);
      return expect(reached).toBe(0);
    }
    const session = await http2To(port);
    const stream = session.request({ ':method': 'POST', ':path': path, ...json });
    stream.on('error', () => undefined).resume();
    stream.write('{');
    await once(stream, 'close');
    expect(reached).toBe(0);
    // Other calls of the connection go on.
    expect(await callOver(session)).toBe(200);
  },
);

test('a caller who was let in over HTTP/2 may rest, and a stream of answers outlives the bounds', async () => {
  const { port, subject } = await stand({ places: { headMs: 50 }, bodyMs: 50 });
  const release = Promise.withResolvers<void>();
  subject.watch = async function* () {
    yield { sequence: 1n };
    await release.promise;
    yield { sequence: 2n };
  };
  const session = await http2To(port);
  expect(await callOver(session)).toBe(200);
  await waited(200);
  const watch = session.request({
    ':method': 'POST',
    ':path': '/tessera.trial.v1.TrialStreamService/Watch',
    ...headersOf('token'),
    'content-type': 'application/connect+json',
  });
  watch.end(Buffer.from([0, 0, 0, 0, 2, 0x7b, 0x7d]));
  const got: Buffer[] = [];
  watch.on('data', (chunk: Buffer) => got.push(chunk));
  await once(watch, 'data');
  await waited(200);
  release.resolve();
  await once(watch, 'end');
  expect(Buffer.concat(got).toString()).toContain('"sequence":"2"');
});

async function http2To(port: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  cleanUps.push(() => session.destroy());
  await once(session, 'connect');
  return session;
}

async function callOver(session: ClientHttp2Session): Promise<unknown> {
  const stream = session.request({ ':method': 'POST', ':path': path, ...json });
  stream.end('{}');
  const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
  await once(stream.resume(), 'close');
  return answer[':status'];
}

const waited = async (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
