import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cycle, get, isOk } from '../operations/requests.ts';
import { closedLoop } from './closed-loop.ts';
import { failures } from './failures.ts';

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
    const result = await closedLoop(url, load, { ...loop, seconds: 1 });
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
