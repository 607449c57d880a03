import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cycle, get, isOk } from '../operations/requests.ts';
import { closedLoop } from './closed-loop.ts';
import { failures } from './failures.ts';
import { openLoop } from './open-loop.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    failures();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const load = cycle([get('/')], isOk);
const loop = { inFlight: 4, seconds: 0.3, share: 1 };

describe('the closed loop', () => {
  it('waits for the answers of what is under way when the time is over', async () => {
    let asked = 0;
    const url = await serve((_request, response) => {
      asked += 1;
      setTimeout(() => response.end('good'), 200);
    });
    const result = await closedLoop(url, load, loop);
    expect(result).toMatchObject({ operations: asked, errors: 0 });
    expect(asked).toBeGreaterThan(4);
  });

  it('ends when a limited number of requests is over, however long that takes', async () => {
    const url = await serve((_request, response) => void setTimeout(() => response.end('good'), 50));
    const result = await closedLoop(url, { ...load, limit: 40 }, { ...loop, share: 0.5 });
    expect(result).toMatchObject({ operations: 20, errors: 0 });
  });

  it('counts an answer that is not the right one, and names it', async () => {
    let asked = 0;
    const url = await serve((_request, response) => {
      asked += 1;
      response.writeHead(asked === 3 ? 503 : 200).end('good');
    });
    const result = await closedLoop(url, load, loop);
    expect(result).toMatchObject({ operations: asked - 1, errors: 1 });
    expect(failures()).toBe('1 × HTTP 503');
  });

  it.each([
    ['reset', (socket: { resetAndDestroy(): void }) => socket.resetAndDestroy()],
    ['closed', (socket: { end(): void }) => socket.end()],
  ])('counts a request whose connection is %s without an answer', async (_how, end) => {
    let asked = 0;
    const url = await serve((request, response) => {
      asked += 1;
      if (asked === 3) end(request.socket);
      else response.end('good');
    });
    const result = await closedLoop(url, load, loop);
    expect(result).toMatchObject({ operations: asked - 1, errors: 1 });
    expect(failures()).toBe('1 × no answer');
  });
});

describe('the open loop', () => {
  it('never reports an answer before its request', async () => {
    const { operations, errors, p50 } = await openLoop(400, 0.5, async () => Promise.resolve(true));
    expect(errors).toBe(0);
    expect(operations).toBeGreaterThan(100);
    expect(p50).toBeGreaterThanOrEqual(0);
  });

  it('counts what waits behind a slow answer from the moment it was due', async () => {
    let asked = 0;
    const { p99 } = await openLoop(100, 0.5, async () => {
      asked += 1;
      if (asked === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      return Promise.resolve(true);
    });
    expect(p99).toBeGreaterThan(100);
  });
});
