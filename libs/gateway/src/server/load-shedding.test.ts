import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { metrics } from '@tessera/telemetry';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { openGateway, type TestGateway } from '../testing/fake-services.ts';
import { refuseOverload } from './load-shedding.ts';

let gateway: TestGateway | undefined;
afterEach(async () => gateway?.close());

const body = JSON.stringify({ grantType: 'client_credentials', clientId: 'a', clientSecret: 'b' });
const jsonBody = { 'content-type': 'application/json' };
const token = async (app: TestGateway['app']) =>
  app.inject({ method: 'POST', url: '/token', headers: jsonBody, body });

/** A gateway whose token requests wait until they are released, and whose clock stands still. */
function slow(environment: Readonly<Record<string, string>> = {}) {
  const release = Promise.withResolvers<{ accessToken: string; expiresIn: number }>();
  let waiting = 0;
  const exchange = () => {
    waiting += 1;
    return release.promise;
  };
  gateway = openGateway(testRuntime({ clock: fakeClock() }), { exchange }, environment, {
    readiness: () => Promise.resolve(),
    deadlines: 'none',
  });
  const { app } = gateway;
  return {
    app,
    waiting: () => waiting,
    /** Sends as many requests as it holds at once. */
    async fill() {
      const requests = Array.from({ length: 4_096 }, () => token(app));
      await expect.poll(() => waiting).toBe(1_024);
      return requests;
    },
    release: () => release.resolve({ accessToken: 'at', expiresIn: 60 }),
  };
}

/** A server that answers when it is released, and how slow that is by its clock. */
function held({ isLoopBusy = false } = {}) {
  const app = Fastify();
  const clock = fakeClock();
  let waiting = 0;
  let next = Promise.withResolvers<void>();
  app.decorateRequest('refused', false);
  refuseOverload(app, testRuntime({ clock }), () => isLoopBusy);
  const served: string[] = [];
  app.get('/', (request) => {
    waiting += 1;
    served.push(request.id);
    return next.promise.then(() => 'answered');
  });
  const ask = (count: number) => Array.from({ length: count }, async () => app.inject('/'));
  return {
    app,
    ask,
    served,
    waiting: () => waiting,
    advance: (ms: number) => clock.advance(ms),
    release(tookMs: number) {
      clock.advance(tookMs);
      next.resolve();
      next = Promise.withResolvers();
      waiting = 0;
    },
  };
}
/** Refused token requests so far, as the metrics have them. */
const countedRefusals = async () => {
  const line = /^tessera_http_requests_total\{endpoint="\/token",method="POST",status="503",.*\} (\d+)$/m;
  return Number(line.exec(await metrics.text())?.[1] ?? 0);
};
const statusesOf = async (answers: readonly Promise<{ statusCode: number }>[]) =>
  Object.fromEntries(
    [...Map.groupBy(await Promise.all(answers), ({ statusCode }) => statusCode)].map(([status, all]) => [
      status,
      all.length,
    ]),
  );

it('lets a thousand clients wait as long as requests are quick', async () => {
  const { ask, waiting, release } = held();
  for (let round = 0; round < 3; round += 1) {
    const answers = ask(1_000);
    await expect.poll(waiting).toBe(1_000);
    release(900);
    expect(await statusesOf(answers)).toEqual({ 200: 1_000 });
  }
});

it('refuses what has waited for two seconds while many slow requests are in progress, and admits again when there are fewer', async () => {
  const { ask, waiting, release, advance } = held();
  const slowOnes = ask(300);
  await expect.poll(waiting).toBe(300);
  release(3_000);
  expect(await statusesOf(slowOnes)).toEqual({ 200: 300 });
  const next = ask(400);
  await expect.poll(waiting).toBe(256);
  advance(2_000);
  expect(await statusesOf(next.slice(256))).toEqual({ 503: 144 });
  release(100);
  expect(await statusesOf(next)).toEqual({ 200: 256, 503: 144 });
  const few = ask(200);
  await expect.poll(waiting).toBe(200);
  release(100);
  expect(await statusesOf(few)).toEqual({ 200: 200 });
});

it('answers first who came first, 64 at a time, while the event loop is busy', async () => {
  const { ask, waiting, release, served } = held({ isLoopBusy: true });
  const answers = ask(200);
  for (const count of [64, 64, 64, 8]) {
    await expect.poll(waiting).toBe(count);
    release(1);
  }
  expect(await statusesOf(answers)).toEqual({ 200: 200 });
  expect(served).toEqual(served.toSorted((a, b) => Number(a.slice(4)) - Number(b.slice(4))));
});

it('starts nothing for clients that left while they waited', async () => {
  const { app, waiting, release, served } = held({ isLoopBusy: true });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  let arrived = 0;
  app.server.on('request', () => (arrived += 1));
  const clients = Array.from({ length: 100 }, () => httpRequest(url).end());
  for (const client of clients) client.on('error', () => undefined);
  const answered = Promise.all(clients.slice(90).map((client) => once(client, 'response')));
  await expect.poll(() => arrived).toBe(100);
  for (const client of clients.slice(64, 90)) client.destroy();
  await expect.poll(() => new Promise((resolve) => app.server.getConnections((_, n) => resolve(n)))).toBe(74);
  expect(waiting()).toBe(64);
  release(1);
  await expect.poll(waiting).toBe(10);
  release(1);
  await answered;
  expect(served.length).toBe(74);
});

it('gives no place to clients that do not read their answers', async () => {
  const { app, ask, waiting, release } = held();
  let answered = 0;
  // More than the system takes for a client that does not read.
  const large = Buffer.alloc(1024 * 1024);
  app.get('/large', (_request, reply) => {
    answered += 1;
    return reply.send(large);
  });
  const slowOnes = ask(300);
  await expect.poll(waiting).toBe(300);
  release(3_000);
  await Promise.all(slowOnes);
  // The buffers of a local socket are small.
  const folder = mkdtempSync(join(tmpdir(), 'tessera-readers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'http');
  await app.listen({ path });
  onTestFinished(() => app.close());
  const readers = Array.from({ length: 262 }, () => {
    const reader = connect(path).pause();
    reader.on('error', () => undefined).write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
    return reader;
  });
  await expect.poll(() => answered).toBe(262);
  const others = ask(100);
  await expect.poll(waiting).toBe(100);
  release(10);
  expect(await statusesOf(others)).toEqual({ 200: 100 });
  for (const reader of readers) reader.destroy();
});

it('forgets the requests of clients that leave before they are answered', async () => {
  const { app, ask, waiting, release } = held();
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const slowOnes = ask(300);
    await expect.poll(waiting).toBe(300);
    release(3_000);
    expect(await statusesOf(slowOnes)).toEqual({ 200: 300 });
    const leaving = Array.from({ length: 250 }, () => httpRequest(url).end());
    for (const client of leaving) client.on('error', () => undefined);
    await expect.poll(waiting).toBe(250);
    for (const client of leaving) client.destroy();
    await expect
      .poll(() => new Promise((resolve) => app.server.getConnections((_, n) => resolve(n))))
      .toBe(0);
    release(100);
    const few = ask(200);
    await expect.poll(waiting).toBe(200);
    release(100);
    expect(await statusesOf(few)).toEqual({ 200: 200 });
  } finally {
    await app.close();
  }
});

it('refuses a burst that is more than it can hold at once, with 503 and Retry-After, and still says that it is ready', async () => {
  const { app, waiting, release } = slow();
  let answered = 0;
  const requests = Array.from({ length: 4_148 }, () => token(app).finally(() => (answered += 1)));
  const refused = await Promise.race(requests);
  expect(refused.statusCode).toBe(503);
  expect(refused.headers['retry-after']).toBe('2');
  expect(refused.json()).toMatchObject({ isSuccess: false, error: 'temporarily_unavailable' });
  await expect.poll(waiting).toBe(1_024);
  await expect.poll(() => answered).toBe(52);
  const page = await app.inject({ url: '/login', headers: { accept: 'text/html' } });
  expect([page.statusCode, page.headers['retry-after']]).toEqual([503, '2']);
  expect((await app.inject('/readyz')).statusCode).toBe(200);

  release();
  expect(await statusesOf(requests)).toEqual({ 200: 4_096, 503: 52 });
  expect((await token(app)).statusCode).toBe(200);
});

it('refuses each dialect in its own shape, with the headers of every answer, and counts it', async () => {
  const environment = { TESSERA_ISSUER: 'https://login.example' };
  const { app, fill, release } = slow(environment);
  const requests = await fill();
  const before = await countedRefusals();

  const json = await token(app);
  const form = await app.inject({
    method: 'POST',
    url: '/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials&client_id=a&client_secret=b',
  });
  const internal = await app.inject({ method: 'POST', url: '/introspect', headers: jsonBody, body });
  const message = 'The service is overloaded. Try again in a moment.';
  expect(json.json()).toEqual({ isSuccess: false, error: 'temporarily_unavailable', message });
  expect(form.json()).toEqual({ error: 'temporarily_unavailable', error_description: message });
  for (const answer of [json, form, internal]) {
    expect([answer.statusCode, answer.headers]).toMatchObject([
      503,
      {
        'cache-control': 'no-store',
        'content-type': 'application/json; charset=utf-8',
        'retry-after': '2',
        'strict-transport-security': 'max-age=31536000',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^[\w-]{36}$/),
      },
    ]);
  }
  // A browser-based client must be able to read that it is to wait.
  for (const answer of [json, form]) {
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'www-authenticate, retry-after, x-request-id',
    });
  }
  expect(internal.headers).not.toHaveProperty('access-control-allow-origin');
  expect(await countedRefusals()).toBe(before + 2);

  release();
  expect(await statusesOf(requests)).toEqual({ 200: 4_096 });
});

it('refuses more requests of one connection than may be unanswered at once, one after the other', async () => {
  const { app, fill, release } = slow();
  const url = new URL('/token', await app.listen({ host: '127.0.0.1', port: 0 }));
  const requests = await fill();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let connections = 0;
  app.server.on('connection', () => (connections += 1));
  for (let times = 0; times < 40; times += 1) {
    const client = httpRequest(url, { method: 'POST', headers: jsonBody, agent });
    client.end(body);
    const [answer] = (await once(client, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(503);
    await once(answer.resume(), 'end');
  }
  expect(connections).toBe(1);
  agent.destroy();
  release();
  await Promise.all(requests);
});

it('gives no place to clients whose bodies have not arrived', async () => {
  const { app, waiting, release } = slow();
  const url = new URL('/token', await app.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }));
  const headers = { 'content-type': 'application/json', 'content-length': '1000' };
  const clients = Array.from({ length: 2_100 }, () => {
    const client = httpRequest(url, { method: 'POST', headers });
    client.on('error', () => undefined);
    client.flushHeaders();
    return client;
  });
  let arrived = 0;
  app.server.on('connection', () => (arrived += 1));
  await expect.poll(() => arrived, { timeout: 120_000 }).toBe(2_100);
  release();
  expect((await token(app)).statusCode).toBe(200);
  expect(waiting()).toBe(1);
  for (const client of clients) client.destroy();
});
