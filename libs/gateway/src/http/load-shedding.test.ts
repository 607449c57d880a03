import { request as httpRequest } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type TestGateway } from '../testing/fake-services.ts';

let gateway: TestGateway | undefined;
afterEach(async () => gateway?.close());

const body = JSON.stringify({ grantType: 'client_credentials', clientId: 'a', clientSecret: 'b' });
const token = async (app: TestGateway['app']) =>
  app.inject({ method: 'POST', url: '/token', headers: { 'content-type': 'application/json' }, body });

/** A gateway whose token requests wait until they are released. */
function slow() {
  const release = Promise.withResolvers<{ accessToken: string; expiresIn: number }>();
  let waiting = 0;
  const exchange = () => {
    waiting += 1;
    return release.promise;
  };
  gateway = openGateway(testRuntime(), { exchange }, {}, { readiness: () => Promise.resolve() });
  const { app } = gateway;
  return {
    app,
    waiting: () => waiting,
    release: () => release.resolve({ accessToken: 'at', expiresIn: 60 }),
  };
}

it('refuses what is more than it can answer soon at once with 503 and Retry-After, and answers again afterwards', async () => {
  const { app, waiting, release } = slow();
  let answered = 0;
  const requests = Array.from({ length: 1_000 }, () => token(app).finally(() => (answered += 1)));
  const refused = await Promise.race(requests);
  expect(refused.statusCode).toBe(503);
  expect(refused.headers['retry-after']).toBe('2');
  expect(refused.json()).toMatchObject({ isSuccess: false, error: 'temporarily_unavailable' });
  await expect.poll(waiting).toBe(256);
  await expect.poll(() => answered).toBe(744);
  const page = await app.inject({ url: '/login', headers: { accept: 'text/html' } });
  expect([page.statusCode, page.headers['retry-after']]).toEqual([503, '2']);
  expect((await app.inject('/readyz')).statusCode).toBe(200);

  release();
  const statuses = (await Promise.all(requests)).map(({ statusCode }) => statusCode);
  expect(statuses.filter((status) => status === 200)).toHaveLength(256);
  expect(statuses.filter((status) => status === 503)).toHaveLength(744);
  expect((await token(app)).statusCode).toBe(200);
});

it('gives no place to clients whose bodies have not arrived', async () => {
  const { app, waiting, release } = slow();
  const url = new URL('/token', await app.listen({ host: '127.0.0.1', port: 0 }));
  const headers = { 'content-type': 'application/json', 'content-length': '1000' };
  const clients = Array.from({ length: 300 }, () => {
    const client = httpRequest(url, { method: 'POST', headers });
    client.on('error', () => undefined);
    client.flushHeaders();
    return client;
  });
  let arrived = 0;
  app.server.on('connection', () => (arrived += 1));
  await expect.poll(() => arrived, { timeout: 30_000 }).toBe(300);
  release();
  expect((await token(app)).statusCode).toBe(200);
  expect(waiting()).toBe(1);
  for (const client of clients) client.destroy();
});
