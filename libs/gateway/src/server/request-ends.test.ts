import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { recordTraces, testRuntime, type RecordedSpan } from '@tessera/test-kit';
import { createLogger, metrics } from '@tessera/telemetry';
import { expect, it, onTestFinished } from 'vitest';
import { openGateway } from '../testing/fake-services.ts';

const body = '{"grantType":"client_credentials","clientId":"svc","clientSecret":"s"}';
const request =
  'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
  `Content-Length: ${body.length}\r\n\r\n${body}`;

/** A gateway whose token requests wait until they are released, and what it reports of them. */
async function open(environment: Readonly<Record<string, string>> = {}) {
  const spans = await recordTraces();
  const lines: string[] = [];
  const log = createLogger(
    { service: 'gateway', level: 'info' },
    { write: (line: string) => void lines.push(line) },
  );
  const release = Promise.withResolvers<{ accessToken: string; expiresIn: number }>();
  const gateway = openGateway(testRuntime({ log }), { exchange: () => release.promise }, environment);
  onTestFinished(() => gateway.close());
  const { port } = new URL(await gateway.listen({ host: '127.0.0.1', port: 0 }));
  const before = await counted();
  const client = async (text: string): Promise<Socket> => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  /** Statuses in the log, in the spans and, as counts, in the metrics. */
  const reported = async () => ({
    lines: lines
      .map((line) => JSON.parse(line) as { message: string; status: number; route: string })
      .filter(({ message, route }) => message === 'request' && route === '/token')
      .map(({ status }) => status),
    spans: spans.filter(({ kind }) => kind === 'server').map(statusOf),
    counted: (await counted()).map((count, at) => count - (before[at] ?? 0)),
  });
  return {
    gateway,
    client,
    reported,
    handled: () => gateway.requests('exchange').length,
    release: () => release.resolve({ accessToken: 'at', expiresIn: 60 }),
  };
}

const statusOf = ({ attributes }: RecordedSpan) =>
  Object.fromEntries(attributes)['http.response.status_code'];

/** Token requests so far with 200 and with 499. */
const counted = async (): Promise<number[]> => {
  const text = await metrics.text();
  return ['200', '499'].map((status) => {
    const line = `tessera_http_requests_total{endpoint="/token",method="POST",status="${status}",error=""} `;
    return Number(
      text
        .split('\n')
        .find((found) => found.startsWith(line))
        ?.slice(line.length) ?? 0,
    );
  });
};

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

it('has one line, one count and one span for each request whose client left before the answer', async () => {
  const { client, handled, reported, release } = await open();
  const clients = await Promise.all(times(20, request).map(client));
  await expect.poll(handled).toBe(20);
  for (const socket of clients) socket.destroy();
  const left = { lines: times(20, 499), spans: times(20, 499), counted: [0, 20] };
  await expect.poll(reported).toEqual(left);
  // Unread answers do not end it a second time.
  release();
  const other = await client(request);
  await once(other, 'data');
  await expect.poll(reported).toEqual({
    lines: [...left.lines, 200],
    spans: [...left.spans, 200],
    counted: [1, 20],
  });
  other.destroy();
});

it('counts each pipelined request of a client that left, also those that waited behind another', async () => {
  const { client, handled, reported } = await open();
  const socket = await client(request.repeat(5));
  await expect.poll(handled).toBe(5);
  socket.destroy();
  await expect.poll(reported).toEqual({ lines: times(5, 499), spans: times(5, 499), counted: [0, 5] });
});

it.each([
  ['half-close the connection', (socket: Socket) => socket.end()],
  ['reset it', (socket: Socket) => socket.resetAndDestroy()],
])('runs and reports every complete request of clients that %s at once', async (_how, leave) => {
  const { client, handled, reported, release } = await open();
  release();
  for (const socket of await Promise.all(times(30, request).map(client))) leave(socket);
  const ends = async () => {
    const { lines, spans, counted: counts } = await reported();
    expect([...lines, ...spans].every((status) => status === 200 || status === 499)).toBe(true);
    return [lines.length, spans.length, counts.reduce((sum, count) => sum + count), handled()];
  };
  await expect.poll(ends).toEqual([30, 30, 30, 30]);
});
