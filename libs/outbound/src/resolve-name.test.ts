import { createSocket, type Socket } from 'node:dgram';
import { afterEach, describe, expect, it } from 'vitest';
import { createResolveName } from './resolve-name.ts';

const sockets: Socket[] = [];
afterEach(() => sockets.splice(0).forEach((socket) => socket.close()));

/** A name server; it answers A queries with the address, others with nothing, or is silent. */
async function nameServer(address?: readonly number[]): Promise<string> {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.on('message', (query, { port }) => {
    if (address === undefined) return;
    const isA = query.readUInt16BE(query.indexOf(0, 12) + 1) === 1;
    const head = Buffer.from(query);
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(isA ? 1 : 0, 6);
    head.writeUInt16BE(0, 10);
    const question = head.subarray(0, query.indexOf(0, 12) + 5);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address]);
    socket.send(isA ? Buffer.concat([question, record]) : question, port);
  });
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  return `127.0.0.1:${socket.address().port}`;
}

describe('asking for the addresses of a name', () => {
  it('resolves with those that a name server knows', async () => {
    const resolve = createResolveName([await nameServer([192, 0, 2, 1])]);
    expect(await resolve('keys.example', AbortSignal.timeout(2_000))).toEqual([
      { address: '192.0.2.1', family: 4 },
    ]);
  });

  it('ends with its limit, however long a name server is silent, and holds no thread up meanwhile', async () => {
    const resolve = createResolveName([await nameServer()]);
    const started = performance.now();
    const asked = Array.from({ length: 50 }, (_, index) =>
      resolve(`keys-${index}.example`, AbortSignal.timeout(200)),
    );
    const ended = await Promise.allSettled(asked);
    expect(ended.every(({ status }) => status === 'rejected')).toBe(true);
    expect(performance.now() - started).toBeLessThan(900);
    await expect(resolve('late.example', AbortSignal.abort())).rejects.toThrow();
  });
});
