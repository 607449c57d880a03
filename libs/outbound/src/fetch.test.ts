import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createFetch } from './fetch.ts';
import { createPlaces } from './places.ts';

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    }),
  );
});

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?a=1`;
}

const held = { isHeld: () => true };
const limits = { places: held, timeoutMs: 300, longestBytes: 1000 };
const open = createFetch({ allowPrivate: true, ...limits });
const guarded = createFetch({ allowPrivate: false, ...limits });

describe('asking another server', () => {
  it('sends method, headers and form, and returns status, headers and body', async () => {
    const url = await listening((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const got = { method: request.method, url: request.url, a: request.headers['x-a'], body };
        response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(got));
      });
    });
    const body = new URLSearchParams({ code: 'å' });
    const answer = await open(url, { method: 'POST', headers: { 'x-a': 'b' }, body });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([201, 'application/json']);
    expect(await answer.json()).toEqual({ method: 'POST', url: '/path?a=1', a: 'b', body: 'code=%C3%A5' });
  });

  it('follows no redirect (CVE-2026-4366)', async () => {
    const paths: unknown[] = [];
    const url = await listening((request, response) => {
      paths.push(request.url);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect((await open(url)).status).toBe(302);
    expect(paths).toHaveLength(1);
  });

  it('gives up on answers that are too long, too late, or cut', async () => {
    const long = await listening((_request, response) => response.end('x'.repeat(1001)));
    await expect(open(long)).rejects.toThrow(/more than 1000 bytes/);
    const slow = await listening((_request, response) => void response.write('x'));
    await expect(open(slow)).rejects.toThrow();
    const silent = await listening(() => undefined);
    await expect(open(silent)).rejects.toThrow();
    const cut = await listening((request) => request.socket.destroy());
    await expect(open(cut)).rejects.toThrow();
    const given = new AbortController();
    const waiting = open(silent, { signal: given.signal });
    given.abort();
    await expect(waiting).rejects.toThrow();
  });

  it('asks nobody for a request that holds no place, so that no way past the bounds stays unnoticed', async () => {
    let asked = 0;
    const url = await listening((_request, response) => {
      asked += 1;
      response.end();
    });
    const places = createPlaces({ now: () => 0 });
    const fetch = createFetch({ allowPrivate: true, ...limits, places });
    const other = createPlaces({ now: () => 0 });
    await expect(fetch(url)).rejects.toThrow('without a place');
    const waiting = { server: 'a', address: 'b' };
    await expect(other.hold(waiting, async () => fetch(url))).rejects.toThrow('without a place');
    expect(asked).toBe(0);
    expect((await places.hold(waiting, async () => fetch(url))).status).toBe(200);
  });

  it.each(['http://idp.example/', 'https://127.0.0.1/', 'https://[::1]/', 'https://localhost/'])(
    'refuses %s unless it is allowed by configuration (SSRF-2)',
    async (url) => {
      await expect(guarded(url)).rejects.toThrow();
    },
  );
});
