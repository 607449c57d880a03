import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { boundConnections, type ConnectionBounds } from './bounded-connections.ts';
import { networks } from '../http/caller-address.ts';
import { metrics } from '@tessera/telemetry';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
});

interface Stand {
  readonly port: number;
  /** Whole requests that wait for their answers. */
  readonly waiting: (() => void)[];
  /** The warnings in the log: their fields, and what they say after a semicolon. */
  readonly lines: object[];
  readonly said: (string | undefined)[];
}

/** Longer than what the system takes from us for a client that reads nothing. */
const long = Buffer.alloc(32 * 1024 * 1024, 'x');

/** A server that reads whole requests and answers those to `/` and `/long` at once, the others when it is told. */
async function stand(bounds: ConnectionBounds, proxies: readonly string[] = []): Promise<Stand> {
  const waiting: (() => void)[] = [];
  const lines: object[] = [];
  const said: (string | undefined)[] = [];
  const server: Server = createServer((request, response) => {
    request.resume().once('end', () => {
      if (request.url === '/') response.end('served');
      else if (request.url === '/long') response.end(long);
      else waiting.push(() => response.end('served'));
    });
  });
  boundConnections(server, networks(proxies), bounds, {
    warn: (fields: object, message?: string) => {
      lines.push(fields);
      said.push(message?.split('; ')[1]);
    },
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanUps.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    port: (server.address() as AddressInfo).port,
    waiting,
    lines,
    said,
  };
}

const countOf = async (reason: string): Promise<number> => {
  const line = new RegExp(`tessera_http_connections_closed_total\\{reason="${reason}"\\} (\\d+)`);
  return Number(line.exec(await metrics.text())?.[1] ?? 0);
};

const head = 'POST / HTTP/1.1\r\nhost: a\r\nx-long: ';
const body = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf';

async function opened(port: number, sent: string, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  cleanUps.push(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (sent !== '') socket.write(sent);
  socket.resume();
  return socket;
}

const closed = async (socket: Socket): Promise<void> => {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
};

/** The body of an answer; empty if the connection was cut. */
function asked(port: number, localAddress: string, path = '/'): Promise<string> {
  return new Promise((resolve) => {
    const sent = httpRequest({ port, host: '127.0.0.1', localAddress, path, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.once('end', () => resolve(text));
    });
    sent.once('error', () => resolve('')).end();
  });
}

test.each([
  ['heads', head],
  ['bodies', body],
  ['silence', ''],
])('unfinished %s of one address end for a new connection of it, the oldest first', async (_what, sent) => {
  const { port } = await stand({ inAll: 100, ofOneAddress: 3 });
  const [oldest, ...others] = [
    await opened(port, sent),
    await opened(port, sent),
    await opened(port, sent),
  ] as const;
  expect(await asked(port, '127.0.0.1')).toBe('served');
  await closed(oldest);
  expect(others.map((socket) => socket.closed)).toEqual([false, false]);
});

test('the address with most connections makes room when all places are taken', async () => {
  const { port } = await stand({ inAll: 4, ofOneAddress: 3 });
  const quiet = await opened(port, head, '127.0.0.2');
  const flood = [await opened(port, head), await opened(port, head), await opened(port, head)] as const;
  expect(await asked(port, '127.0.0.3')).toBe('served');
  await closed(flood[0]);
  expect(quiet.closed).toBe(false);
});

test('a whole request keeps its connection until it is answered; who comes then is cut', async () => {
  const { port, waiting } = await stand({ inAll: 100, ofOneAddress: 2 });
  const held = [asked(port, '127.0.0.1', '/held'), asked(port, '127.0.0.1', '/held')];
  await expect.poll(() => waiting.length).toBe(2);
  expect(await asked(port, '127.0.0.1')).toBe('');
  expect(await asked(port, '127.0.0.2')).toBe('served');
  for (const send of waiting) send();
  expect(await Promise.all(held)).toEqual(['served', 'served']);
  await expect.poll(async () => asked(port, '127.0.0.1')).toBe('served');
});

test('silence makes room where the address with most connections waits for answers', async () => {
  const { port, waiting } = await stand({ inAll: 3, ofOneAddress: 2 });
  const held = [asked(port, '127.0.0.1', '/held'), asked(port, '127.0.0.1', '/held')];
  await expect.poll(() => waiting.length).toBe(2);
  const silent = await opened(port, '', '127.0.0.2');
  expect(await asked(port, '127.0.0.3')).toBe('served');
  await closed(silent);
  for (const send of waiting) send();
  expect(await Promise.all(held)).toEqual(['served', 'served']);
});

test('answers that nobody reads take no place from another address, and give theirs up last', async () => {
  const { port, waiting, said } = await stand({ inAll: 4, ofOneAddress: 2 });
  const unread = async (localAddress: string): Promise<Socket> => {
    const socket = await opened(port, 'GET /long HTTP/1.1\r\nhost: a\r\n\r\n', localAddress);
    socket.once('data', () => socket.pause());
    await once(socket, 'data');
    return socket;
  };
  const held = asked(port, '127.0.0.1', '/held');
  await expect.poll(() => waiting.length).toBe(1);
  const [first, second] = [await unread('127.0.0.2'), await unread('127.0.0.2')] as const;
  const silent = await opened(port, '', '127.0.0.3');
  expect(await asked(port, '127.0.0.4')).toBe('served');
  await closed(silent);
  const other = await unread('127.0.0.3');
  expect(await asked(port, '127.0.0.4')).toBe('served');
  const third = await unread('127.0.0.2');
  expect(await asked(port, '127.0.0.2')).toBe('served');
  for (const socket of [first, second]) {
    socket.resume();
    await closed(socket);
  }
  expect([other.closed, third.closed]).toEqual([false, false]);
  expect(new Set(said)).toEqual(
    new Set([
      'closing the oldest without a whole request under way',
      'closing the oldest that leaves its answer unread',
    ]),
  );
  for (const send of waiting) send();
  expect(await held).toBe('served');
});

test('a trusted proxy has no bound of its own', async () => {
  const { port } = await stand({ inAll: 100, ofOneAddress: 2 }, ['loopback']);
  const sockets = [await opened(port, head), await opened(port, head), await opened(port, head)];
  expect(await asked(port, '127.0.0.1')).toBe('served');
  expect(sockets.some((socket) => socket.closed)).toBe(false);
});

test('each connection that a bound closes is counted with the bound, and many are one line in the log', async () => {
  const before = [await countOf('address'), await countOf('all')] as const;
  const { port, lines } = await stand({ inAll: 4, ofOneAddress: 2 });
  const flood: Socket[] = [];
  for (let time = 0; time < 7; time += 1) flood.push(await opened(port, head));
  for (const socket of flood.slice(0, 5)) await closed(socket);
  expect(lines).toEqual([{ reason: 'address', ipAddress: '127.0.0.1', open: 2 }]);
  for (const last of [2, 3, 4, 5]) await opened(port, head, `127.0.0.${last}`);
  for (const socket of flood) await closed(socket);
  expect(lines.slice(1)).toEqual([{ reason: 'all', ipAddress: '127.0.0.1', open: 4 }]);
  expect([await countOf('address'), await countOf('all')]).toEqual([before[0] + 5, before[1] + 2]);
});

test('a new connection that finds no room is counted too', async () => {
  const before = await countOf('address');
  const { port, waiting, said } = await stand({ inAll: 100, ofOneAddress: 1 });
  const held = asked(port, '127.0.0.1', '/held');
  await expect.poll(() => waiting.length).toBe(1);
  expect(await asked(port, '127.0.0.1')).toBe('');
  expect(await countOf('address')).toBe(before + 1);
  expect(said).toEqual(['closing the new one, as each of the others has a request under way']);
  for (const send of waiting) send();
  expect(await held).toBe('served');
});
