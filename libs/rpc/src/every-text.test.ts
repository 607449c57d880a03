import { create, toBinary, type DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Metadata } from '@grpc/grpc-js';
import { Secret } from '@tessera/kit';
import { methodName } from '@tessera/telemetry';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { declaredAccess } from './access/declared-access.ts';
import { fieldViolations } from './errors/field-violations.ts';
import { serveConnect, type ConnectServer } from './hosts/connect/serve-connect.ts';
import { serve, type RpcServer } from './hosts/grpc/serve-grpc.ts';
import { local } from './hosts/in-process/local.ts';
import { everyService, offering } from './testing/every-service.ts';
import { stockCall } from './testing/stock-clients.ts';
import { textsOf } from './testing/texts-of.ts';

const services = await everyService();
const methods = services.flatMap((service) => service.methods);
/**
 * They answer about tokens of others, so that one text must not refuse the rest of a batch, nor become an error that a
 * proxy lets pass.
 */
const forAnyText = ['Introspect', 'BatchIntrospect', 'Check'];
const withTexts = methods.flatMap((method) => {
  const places = textsOf(method.input);
  const [first] = places;
  if (first === undefined || forAnyText.includes(method.name)) return [];
  return [{ name: methodName(method), method, places, first }];
});

let reached: string[] = [];
beforeEach(() => {
  reached = [];
});
const built = offering(services, (method) => reached.push(methodName(method)));
const shared = new Secret('a shared token for this test');
const callerOf = (method: DescMethod) => declaredAccess(method).callers[0] ?? 'gateway';

let server: RpcServer;
let connectServer: ConnectServer;
beforeAll(async () => {
  const credentials = { kind: 'token', token: shared } as const;
  const options = { host: '127.0.0.1', port: 0, credentials, log: silentLog() };
  server = await serve(built, options);
  connectServer = await serveConnect(built, options);
});
afterAll(async () => {
  await Promise.all([server.drain(), connectServer.drain()]);
});

type Methods = Record<
  string,
  (request: unknown, options?: object) => Promise<unknown> | AsyncIterable<unknown>
>;

async function asked(client: object, method: DescMethod, request: unknown, options?: object) {
  const sent = (client as Methods)[method.localName]?.(request, options);
  if (method.methodKind === 'unary') await sent;
  else await (sent as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
}

const clients = new Map<string, object>();
const inProcess = async (method: DescMethod, request: unknown) => {
  const { parent } = method;
  const caller = callerOf(method);
  const key = `${parent.typeName} ${caller}`;
  const client = clients.get(key) ?? local(parent, built, caller, silentLog());
  clients.set(key, client);
  await asked(client, method, request);
};

const overConnect = async (method: DescMethod, request: unknown) => {
  const baseUrl = `http://${connectServer.host}:${connectServer.port}`;
  const transport = createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false });
  const client = createClient(method.parent, transport);
  const headers = { authorization: `Bearer ${shared.reveal()}`, 'x-tessera-caller': callerOf(method) };
  await asked(client, method, request, { headers });
};

const overGrpc = async (method: DescMethod, request: unknown) => {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${shared.reveal()}`);
  metadata.set('x-tessera-caller', callerOf(method));
  const bytes = Buffer.from(toBinary(method.input, create(method.input, request as Record<string, unknown>)));
  await stockCall(`${server.host}:${server.port}`, `/${methodName(method)}`, metadata, bytes);
};

/** The code that refuses a call, and the fields that it names. */
async function refusal(work: Promise<unknown>): Promise<[string, ...string[]] | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    return [Code[error.code], ...fieldViolations(error).map(({ field }) => field)];
  }
}

test('every text of every request is walked here', () => {
  expect(withTexts.length).toBeGreaterThanOrEqual(130);
  expect(withTexts.flatMap(({ places }) => places).length).toBeGreaterThanOrEqual(800);
});

test('tokens of others alone may be any text', async () => {
  const declared = methods.filter((method) => declaredAccess(method).anyText);
  expect(declared.map(({ name }) => name).toSorted()).toEqual(forAnyText.toSorted());
  for (const method of declared)
    for (const { holding } of textsOf(method.input)) await inProcess(method, holding('a\0b'));
  expect(new Set(reached)).toEqual(new Set(declared.map((method) => methodName(method))));
});

test.each(withTexts)(
  '$name takes a text in each of its fields, and none that no store takes',
  async ({ name, method, places }) => {
    for (const { path, holding } of places) {
      for (const text of ['\0', 'a\0b', 'a\ud800'])
        expect(await refusal(inProcess(method, holding(text))), path).toEqual([
          'InvalidArgument',
          path.slice(1),
        ]);
      expect(reached).toEqual([]);
      await inProcess(method, holding('ü\u{1f600}'));
      expect(reached.splice(0)).toEqual([name]);
    }
  },
);

test.each(withTexts)('$name names the field to callers over the wire too', async ({ method, first }) => {
  const { path, holding } = first;
  const field = path.slice(1);
  await expect(overGrpc(method, holding('a\0b'))).rejects.toMatchObject({
    code: Code.InvalidArgument,
    details: expect.stringContaining(`${field}: `) as string,
  });
  expect(await refusal(overConnect(method, holding('a\0b')))).toEqual(['InvalidArgument', field]);
  expect(reached).toEqual([]);
});
