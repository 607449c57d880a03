import { fromBinary } from '@bufbuild/protobuf';
import { Code, createClient } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { metrics } from '@tessera/telemetry';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { asOptions, bufCurl, curl, headersOf, servedOverConnect } from '../../testing/over-connect.ts';
import { token } from '../../testing/servers.ts';
import { createSubject } from '../../testing/subject.ts';
import { ReadResponseSchema } from '../../testing/trial/trial_pb.ts';
import { TrialService } from '../../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
const printed: unknown[][] = [];
beforeEach(() => {
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation((...line) => void printed.push(line));
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  vi.restoreAllMocks();
  // The libraries write to the console what ours writes to the log.
  if (printed.length > 0) throw new Error(`on the console: ${JSON.stringify(printed.splice(0))}`);
});

const read = '/tessera.trial.v1.TrialService/Read';
const write = '/tessera.trial.v1.TrialService/Write';

async function stand(options: Parameters<typeof servedOverConnect>[2] = {}) {
  const subject = createSubject();
  subject.read = (request, context) => ({
    entries: [{ id: `${context.caller} ${context.requestId} ${request.tenantId}` }],
  });
  const { server, url } = await servedOverConnect(subject, cleanUps, options);
  return { subject, server, url };
}

/** A call with curl, with JSON and the shared token. */
async function post(url: string, body: string, headers: Record<string, string> = headersOf('token')) {
  const json = { 'content-type': 'application/json', ...headers };
  const { out } = await curl(...asOptions(json), '--data-binary', body, url);
  const [, answer = '', status] = /^([^]*)\n(\d+)$/.exec(out) ?? [];
  return { status: Number(status), body: answer };
}

const refusal = (status: number, code: string, message: unknown) => ({
  status,
  body: { code, message },
});

async function refused(...call: Parameters<typeof post>) {
  const { status, body } = await post(...call);
  return { status, body: JSON.parse(body) as unknown };
}

test.each([
  ['Connect with JSON', (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '1.1' })],
  [
    'Connect over HTTP/2',
    (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '2', useBinaryFormat: true }),
  ],
  ['gRPC', (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ['gRPC-web', (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' })],
])('a stock client calls over %s', async (_protocol, transportTo) => {
  const { url, subject } = await stand();
  const client = createClient(TrialService, transportTo(url));
  const options = { headers: headersOf('gateway', 'request-7') };
  expect((await client.read({ tenantId: 'acme' }, options)).entries[0]?.id).toBe('gateway request-7 acme');
  await expect(client.write({}, options)).rejects.toMatchObject({
    code: Code.PermissionDenied,
    rawMessage: 'gateway may not call tessera.trial.v1.TrialService/Write',
  });
  await expect(client.read({})).rejects.toMatchObject({ code: Code.Unauthenticated });
  subject.write = () => {
    throw temporarilyUnavailable(new Error('private'), 7);
  };
  const failed = client.write({}, { headers: headersOf('token') });
  await expect(failed).rejects.toMatchObject({ code: Code.Unavailable });
});

test('curl calls with JSON', async () => {
  const { url } = await stand();
  const { status, body } = await post(`${url}${read}`, '{"tenantId": "acme"}');
  expect(status).toBe(200);
  expect(JSON.parse(body)).toEqual({ entries: [{ id: 'token request-1 acme' }] });
});

test('curl is told in JSON why it is refused, and no handler is reached', async () => {
  const { url, subject } = await stand();
  let reached = 0;
  subject.write = () => {
    reached += 1;
    return {};
  };
  const bare = `${url}${write}`;
  expect(await refused(bare, '{}', headersOf('gateway'))).toEqual(
    refusal(403, 'permission_denied', 'gateway may not call tessera.trial.v1.TrialService/Write'),
  );
  const help = 'the caller is not authenticated: send "authorization: Bearer <TESSERA_RPC_TOKEN>"';
  expect(await refused(bare, '{}', {})).toEqual(refusal(401, 'unauthenticated', help));
  const wrong = { ...headersOf('token'), authorization: 'Bearer wrong' };
  expect(await refused(bare, '{}', wrong)).toEqual(refusal(401, 'unauthenticated', help));
  expect(await refused(bare, '{}', { authorization: headersOf('').authorization })).toEqual(
    refusal(401, 'unauthenticated', 'the caller has no name: send "x-tessera-caller: <process>"'),
  );
  for (const bad of ['{', '[]', '{"items": 7}', '{"itemz": []}', ''])
    expect(await refused(bare, bad), bad).toMatchObject({ status: 400, body: { code: 'invalid_argument' } });
  expect(reached).toBe(0);
  const lines = JSON.stringify(subject.lines);
  expect(lines).toContain('gateway may not call');
  expect(lines).not.toContain(token.reveal());
  expect(lines).not.toContain('Bearer wrong');
});

test('a refused caller is answered before its message is read', async () => {
  const { server } = await stand();
  const socket = connect(server.port, '127.0.0.1');
  cleanUps.push(() => void socket.destroy());
  const head = ['host: a', 'content-type: application/json', 'content-length: 1000'];
  socket.write(`POST ${write} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 401 /);
});

test('what is no call gets an answer too', async () => {
  const { url } = await stand();
  const none = refusal(404, 'unimplemented', 'there is no such method');
  for (const path of [
    '/tessera.trial.v1.TrialService/Nothing',
    '/tessera.nothing.v1.Nothing/Sign',
    '/',
    '/%00',
  ])
    expect(await refused(`${url}${path}`, '{}')).toEqual(none);
  const { out } = await curl(...asOptions(headersOf('token')), `${url}${read}?message=%7B%7D&encoding=json`);
  expect(out).toMatch(/unimplemented.*\n404$/);
  expect(
    (await post(`${url}${write}`, 'x', { ...headersOf('token'), 'content-type': 'text/plain' })).status,
  ).toBe(415);
});

test('a message beyond the limit is refused', async () => {
  const { url } = await stand({ maxMessageBytes: 1_000 });
  const large = JSON.stringify({ tenantId: 'x'.repeat(2_000) });
  expect(await refused(`${url}${read}`, large)).toMatchObject({
    status: 429,
    body: { code: 'resource_exhausted' },
  });
});

test('an error of the handler has its code and its sentence, and nothing private', async () => {
  const { url, subject } = await stand();
  subject.write = () => {
    throw temporarilyUnavailable(new Error('private'), 7);
  };
  const headers = asOptions({ ...headersOf('token'), 'content-type': 'application/json' });
  const { out } = await curl('-i', ...headers, '-d', '{}', `${url}${write}`);
  expect(out).toMatch(/^retry-after: 7\r$/im);
  expect(out).toMatch(/"code":"unavailable".*"type":"tessera.kit.v1.OAuthErrorDetail"[^]*\n503$/);
  expect(out).not.toContain('private');
  subject.write = () => {
    throw new TypeError('row is undefined');
  };
  expect(await refused(`${url}${write}`, '{}')).toEqual(refusal(500, 'internal', 'internal error'));
  subject.write = () => {
    throw new OAuthError('invalid_client', 'Not you.');
  };
  expect(await refused(`${url}${write}`, '{}')).toMatchObject({ status: 401, body: { message: 'Not you.' } });
  expect(JSON.stringify(subject.lines)).toContain('row is undefined');
});

test.each([['connect'], ['grpc', '--http2-prior-knowledge'], ['grpcweb']])(
  'buf curl calls over %s',
  async (protocol, ...options) => {
    const { url, subject } = await stand();
    const call = (caller: string, path: string, data: string) =>
      bufCurl(
        '--protocol',
        protocol,
        ...options,
        ...asOptions(headersOf(caller)),
        '-d',
        data,
        `${url}${path}`,
      );
    const { code, out } = await call('token', read, '{"tenantId": "acme"}');
    expect([code, JSON.parse(out)]).toEqual([0, { entries: [{ id: 'token request-1 acme' }] }]);
    const denied = await call('gateway', write, '{}');
    expect(denied.code).not.toBe(0);
    expect(JSON.parse(denied.errors)).toMatchObject({ code: 'permission_denied' });
    subject.watch = async function* () {
      for (let n = 1n; n <= 3n; n += 1n) yield { sequence: n };
    };
    const watched = await call('token', '/tessera.trial.v1.TrialStreamService/Watch', '{}');
    expect([watched.code, watched.out.match(/"sequence":\s*"\d"/g)?.length]).toEqual([0, 3]);
  },
  60_000,
);

test('a call ends at its deadline, and its handler is aborted', async () => {
  const { url, subject } = await stand();
  const ended = Promise.withResolvers<number>();
  subject.write = (_, context) => {
    context.signal.addEventListener('abort', () => ended.resolve(context.deadline));
    return new Promise(() => {});
  };
  const before = Date.now();
  const headers = { ...headersOf('token'), 'connect-timeout-ms': '150' };
  expect(await refused(`${url}${write}`, '{}', headers)).toEqual(
    refusal(504, 'deadline_exceeded', 'deadline exceeded'),
  );
  const deadline = await ended.promise;
  expect(deadline).toBeGreaterThan(before);
  expect(deadline).toBeLessThan(before + 5_000);
  expect(
    await refused(`${url}${write}`, '{}', { ...headersOf('token'), 'connect-timeout-ms': 'soon' }),
  ).toMatchObject({
    status: 400,
    body: { code: 'invalid_argument' },
  });
});

test('a call is aborted if its caller leaves', async () => {
  const { url, subject } = await stand();
  const aborted = Promise.withResolvers<void>();
  const leave = new AbortController();
  subject.write = (_, context) => {
    context.signal.addEventListener('abort', () => aborted.resolve());
    leave.abort();
    return new Promise(() => {});
  };
  const headers = { ...headersOf('token'), 'content-type': 'application/json' };
  const { signal } = leave;
  await fetch(`${url}${write}`, { method: 'POST', headers, body: '{}', signal }).catch(() => undefined);
  await aborted.promise;
});

test('calls are counted', async () => {
  const { url } = await stand();
  const count = async () => {
    const text = await metrics.text();
    return Number(
      /^tessera_calls_total\{method="tessera.trial.v1.TrialService\/Read",outcome="ok"\} (\d+)$/m.exec(
        text,
      )?.[1] ?? 0,
    );
  };
  const before = await count();
  await post(`${url}${read}`, '{}');
  expect(await count()).toBe(before + 1);
});

test('calls without credentials are not served', async () => {
  const served = servedOverConnect(createSubject(), cleanUps, { credentials: { kind: 'none' } });
  await expect(served).rejects.toThrow('calls without credentials are not served over HTTP');
});

test('an address in use fails the start', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  cleanUps.push(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(servedOverConnect(createSubject(), cleanUps, { port })).rejects.toThrow('EADDRINUSE');
});

test('a handler is given no field that its version does not know, so that it hands none on', async () => {
  const { subject, url } = await stand();
  subject.read = (request) => ({ entries: [{ id: `${request.$unknown?.length ?? 0} unknown` }] });
  // Field 900, a varint.
  const body = Uint8Array.of(0xa0, 0x38, 1);
  const headers = { ...headersOf('token'), 'content-type': 'application/proto' };
  const answer = await fetch(`${url}/tessera.trial.v1.TrialService/Read`, {
    method: 'POST',
    headers,
    body,
  });
  const { entries } = fromBinary(ReadResponseSchema, await answer.bytes());
  expect(entries[0]?.id).toBe('0 unknown');
});
