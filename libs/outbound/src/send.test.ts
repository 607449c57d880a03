import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createSend } from './send.ts';

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
});

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

const send = createSend({ allowPrivate: true });
const guarded = createSend({ allowPrivate: false });
const message = (url: string) => ({ url, headers: { 'webhook-id': 'w1' }, body: '{"a":"ä"}' });
const never = new AbortController().signal;

describe('sending a notification', () => {
  it('posts body and headers', async () => {
    const got: unknown[] = [];
    const url = await listening((request, response) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        got.push([request.method, request.headers['webhook-id'], body]);
        response.writeHead(204).end();
      });
    });
    expect(await send(message(url), never)).toEqual({ outcome: 'delivered' });
    expect(got).toEqual([['POST', 'w1', '{"a":"ä"}']]);
  });

  it.each([
    [301, 'refused'],
    [307, 'refused'],
    [400, 'refused'],
    [401, 'refused'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ])('classifies status %d as %s and follows no redirect (CIBA-4)', async (status, outcome) => {
    const paths: unknown[] = [];
    const url = await listening((request, response) => {
      paths.push(request.url);
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    expect(await send(message(url), never)).toEqual({ outcome, reason: `status_${status}` });
    expect(paths).toEqual(['/hook']);
  });

  it('reports a failed connection as failed', async () => {
    const url = await listening((request) => request.socket.destroy());
    expect(await send(message(url), never)).toMatchObject({ outcome: 'failed', reason: 'econnreset' });
  });

  it('reads only the status of a response', async () => {
    const url = await listening((_request, response) => {
      response.writeHead(200);
      const pour = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        if (!response.destroyed) response.once('drain', pour);
      };
      pour();
    });
    expect(await send(message(url), never)).toEqual({ outcome: 'delivered' });
  });

  it('stops when it is aborted', async () => {
    const url = await listening(() => undefined);
    const giveUp = new AbortController();
    const sending = send(message(url), giveUp.signal);
    giveUp.abort();
    expect(await sending).toMatchObject({ outcome: 'failed' });
    for (const server of servers) server.closeAllConnections();
  });

  it.each([
    ['http://hook.example/', 'not_https'],
    ['https://127.0.0.1/', 'private_address'],
    ['https://169.254.169.254/latest', 'private_address'],
    ['https://[::1]/', 'private_address'],
    ['https://[::ffff:127.0.0.1]/', 'private_address'],
    ['https://0x7f000001/', 'private_address'],
    ['https://2130706433/', 'private_address'],
    ['https://localhost/', 'private_address'],
  ])('refuses %s unless it is allowed by configuration', async (url, reason) => {
    expect(await guarded(message(url), never)).toEqual({ outcome: 'refused', reason });
  });
});
