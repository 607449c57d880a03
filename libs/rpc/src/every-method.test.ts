import type { DescMethod } from '@bufbuild/protobuf';
import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Metadata } from '@grpc/grpc-js';
import { Secret } from '@tessera/kit';
import { methodName } from '@tessera/telemetry';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callerNames, type CallerName } from './call.ts';
import { serveConnect, type ConnectServer } from './hosts/connect/serve-connect.ts';
import { serve, type RpcServer } from './hosts/grpc/serve-grpc.ts';
import { local } from './hosts/in-process/local.ts';
import { declaring } from './testing/declaring.ts';
import { everyService, offering } from './testing/every-service.ts';
import { stockCall } from './testing/stock-clients.ts';
import { declaredAccess } from './access/declared-access.ts';
import { TrialService } from './testing/trial/trial-services.ts';

const services = await everyService();
const methods = services.flatMap((service) => service.methods);

/** How a caller proves itself: not at all, by the name it has, or by an access token with these scopes. */
interface Proof {
  readonly caller?: CallerName;
  readonly scopes?: readonly string[];
}

/** Calls a method, and tells `OK` or the name of the code. */
type Call = (method: DescMethod, proof: Proof) => Promise<string>;

const reached: string[] = [];
const built = offering(
  services,
  (method) => reached.push(methodName(method)),
  async (accessToken) => ({
    caller: 'introspector',
    principal: { kind: 'client', id: 'orders-api', everyTenant: true },
    scopes: accessToken.split('/').slice(1),
  }),
);
const shared = new Secret('a shared token for this test');

const inProcess: Call = async (method, { caller }) => {
  if (caller === undefined) throw new Error('a caller in process has a name');
  type Method = (request: object) => Promise<unknown> | AsyncIterable<unknown>;
  const client = local(method.parent, built, caller, silentLog()) as Record<string, Method>;
  const answer = client[method.localName]?.({});
  const work =
    method.methodKind === 'unary'
      ? (answer as Promise<unknown>)
      : (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
  return outcome(work);
};

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

const overGrpc: Call = (method, { caller, scopes }) => {
  const metadata = new Metadata();
  if (caller !== undefined) {
    metadata.set('authorization', `Bearer ${shared.reveal()}`);
    metadata.set('x-tessera-caller', caller);
  }
  if (scopes !== undefined) metadata.set('authorization', `Bearer ${['of', ...scopes].join('/')}`);
  return outcome(stockCall(`${server.host}:${server.port}`, `/${methodName(method)}`, metadata));
};

const overConnect: Call = (method, { caller, scopes }) => {
  const transport = createConnectTransport({
    baseUrl: `http://${connectServer.host}:${connectServer.port}`,
    httpVersion: '1.1',
  });
  type Method = (request: object, options: object) => Promise<unknown> | AsyncIterable<unknown>;
  const client = createClient(method.parent, transport) as Record<string, Method>;
  const headers = {
    ...(caller !== undefined && { authorization: `Bearer ${shared.reveal()}`, 'x-tessera-caller': caller }),
    ...(scopes !== undefined && { authorization: `Bearer ${['of', ...scopes].join('/')}` }),
  };
  const answer = client[method.localName]?.({}, { headers });
  return outcome(
    method.methodKind === 'unary'
      ? (answer as Promise<unknown>)
      : (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().next(),
  );
};

async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'OK';
  } catch (error) {
    return Code[(error as { code: Code }).code];
  }
}

/** What a call is answered with, and that it reaches the handler only if it is admitted. */
async function judged(call: Call, method: DescMethod, proof: Proof): Promise<string> {
  reached.length = 0;
  const code = await call(method, proof);
  expect(reached, `${methodName(method)} for ${JSON.stringify(proof)}`).toEqual(
    code === 'OK' ? [methodName(method)] : [],
  );
  return code;
}

test('every method of every proto is walked here', () => {
  expect(methods.length).toBeGreaterThanOrEqual(54);
});

test('a service with a method that does not declare who may call it is not served', async () => {
  const undeclared = offering([declaring(TrialService, { change: undefined })], () => undefined);
  const refusal = 'tessera.trial.v1.TrialService/Change does not declare who may call it';
  const credentials = { kind: 'none' } as const;
  await expect(
    serve(undeclared, { host: '127.0.0.1', port: 0, credentials, log: silentLog() }),
  ).rejects.toThrow(refusal);
  await expect(
    serveConnect(undeclared, {
      host: '127.0.0.1',
      port: 0,
      credentials: { kind: 'bearer' },
      log: silentLog(),
    }),
  ).rejects.toThrow(refusal);
  expect(() => local(TrialService, undeclared, 'token', silentLog())).toThrow(refusal);
});

describe.each([
  ['in process', inProcess],
  ['over gRPC', overGrpc],
  ['over Connect', overConnect],
])('a call %s', (_way, call) => {
  test.each(methods.map((method) => [methodName(method), method] as const))(
    'of %s is for the callers that its proto names alone (TEN-5)',
    async (_name, method) => {
      const { callers } = declaredAccess(method);
      for (const caller of callerNames) {
        const expected = callers.includes(caller) ? 'OK' : 'PermissionDenied';
        expect(await judged(call, method, { caller }), caller).toBe(expected);
      }
    },
  );
});

describe.each([
  ['over gRPC', overGrpc],
  ['over Connect', overConnect],
])('a call %s', (_way, call) => {
  test.each(methods.map((method) => [methodName(method), method] as const))(
    'of %s is refused without a caller, and opened by an access token with a scope that its proto names alone',
    async (_name, method) => {
      const { scopes } = declaredAccess(method);
      expect(await judged(call, method, {})).toBe('Unauthenticated');
      for (const held of [[], ['openid'], ['tokens.introspect.not', 'introspect']])
        expect(await judged(call, method, { scopes: held })).toBe('PermissionDenied');
      for (const scope of scopes)
        expect(await judged(call, method, { scopes: ['openid', scope] })).toBe('OK');
    },
  );
});
