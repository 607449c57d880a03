import { create, type DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { methodName } from '@tessera/telemetry';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BuiltService } from '../call.ts';
import { openRemoteService } from '../client/remote.ts';
import { serve, type RpcServer } from '../hosts/grpc/serve-grpc.ts';
import { local } from '../hosts/in-process/local.ts';
import { declaredAccess } from '../access/declared-access.ts';
import { storedMessage } from '../stored-message.ts';
import { patienceMs } from '../testing/servers.ts';
import { everyService } from '../testing/every-service.ts';
import { invalidFields } from './field-violations.ts';
import { notUnderstood, refusedByPeer, whereOffered } from './other-version.ts';
import { ReadResponseSchema } from '../testing/trial/trial_pb.ts';
import { TrialService } from '../testing/trial/trial-services.ts';

const services = await everyService();
const methods = services.flatMap((service) => service.methods);

/** A process of a version that knows none of the methods. */
const without: BuiltService = {
  name: 'keys',
  routes: [],
  ready: async () => {},
  close: async () => {},
};
/** A process that knows them, and passes on that its own peer does not. */
const passingOn: BuiltService = {
  ...without,
  routes: services.map((service) => ({
    service,
    handlers: Object.fromEntries(service.methods.map(({ localName }) => [localName, unimplemented])),
  })),
};

function unimplemented(): never {
  throw new ConnectError('not known', Code.Unimplemented);
}

let earlier: RpcServer;
beforeAll(async () => {
  const options = { host: '127.0.0.1', port: 0, credentials: { kind: 'none' } as const, log: silentLog() };
  earlier = await serve(without, options);
});
afterAll(() => earlier.drain());

type Methods = Record<string, (request: object) => Promise<unknown> | AsyncIterable<unknown>>;

async function answer(client: object, { localName, methodKind }: DescMethod): Promise<unknown> {
  const sent = (client as Methods)[localName]?.({});
  return methodKind === 'unary' ? sent : (sent as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
}

const callerOf = (method: DescMethod) => declaredAccess(method).callers[0] ?? 'gateway';

async function overGrpc(method: DescMethod): Promise<unknown> {
  const remote = openRemoteService({
    target: `${earlier.host}:${earlier.port}`,
    as: callerOf(method),
    credentials: { kind: 'none' },
    defaultTimeoutMs: patienceMs,
  });
  try {
    return await answer(remote.client(method.parent), method);
  } finally {
    await remote.close();
  }
}

const inProcess = (method: DescMethod) =>
  answer(local(method.parent, passingOn, callerOf(method), silentLog()), method);

describe.each([
  ['over gRPC', overGrpc],
  ['in process', inProcess],
])('a call %s that the peer does not know', (_way, call) => {
  test.each(methods.map((method) => [methodName(method), method] as const))(
    '%s is temporarily_unavailable, or absent where the caller says what that is',
    async (_name, method) => {
      await expect(call(method)).rejects.toMatchObject({
        name: 'OAuthError',
        code: 'temporarily_unavailable',
        retryAfterSeconds: 1,
      });
      expect(await whereOffered(call(method), () => 'absent')).toBe('absent');
    },
  );
});

test('nothing is absent because its peer is unavailable, refuses or fails', async () => {
  for (const error of [
    temporarilyUnavailable(),
    notUnderstood('a value'),
    new OAuthError('invalid_grant', 'Used.'),
    new ConnectError('not found', Code.NotFound),
    new Error('a defect'),
  ])
    await expect(whereOffered(Promise.reject(error), () => 'absent')).rejects.toBe(error);
  expect(await whereOffered(Promise.resolve('there'), () => 'absent')).toBe('there');
});

test('what the administration API does not have is absent for its clients too', async () => {
  const unknown = Promise.reject(new ConnectError('HTTP 404', Code.Unimplemented));
  expect(await whereOffered(unknown, () => 'absent')).toBe('absent');
});

test('a call that a peer refuses as it stands is temporarily_unavailable; what it says of fields, or that it failed, is not', () => {
  const unknown = new ConnectError('a visit is required', Code.InvalidArgument);
  const closed = new ConnectError('device may not call it', Code.PermissionDenied);
  for (const error of [unknown, closed])
    expect(refusedByPeer(error)).toMatchObject({ code: 'temporarily_unavailable', cause: error });
  for (const error of [
    invalidFields([{ field: 'email', description: 'is not one' }]),
    new ConnectError('internal error', Code.Internal),
    new ConnectError('gone', Code.NotFound),
    new Error('a defect'),
  ])
    expect(refusedByPeer(error)).toBeUndefined();
});

test('a stored record that this version cannot read is temporarily_unavailable, and the log has the reason', () => {
  const stored = storedMessage(ReadResponseSchema);
  const record = create(ReadResponseSchema, { entries: [{ id: 'one' }] });
  expect(stored.decode({ ...(stored.encode(record) as object), ofTomorrow: true })).toEqual(record);
  for (const unreadable of [{ entries: 'one' }, 'text', { entries: [{ createTime: 'noon' }] }])
    expect(() => stored.decode(unreadable)).toThrow(
      expect.objectContaining({
        code: 'temporarily_unavailable',
        cause: expect.objectContaining({ name: 'NotUnderstood', cause: expect.any(Error) }),
      }),
    );
});

test('the log says which method, or what, another version does not know', async () => {
  const [method] = TrialService.methods;
  if (method === undefined) throw new Error('no method');
  const error = await overGrpc(method).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ cause: { name: 'NotOffered' } });
  expect(String((error as Error).cause)).toContain(methodName(method));
  expect(notUnderstood('the step x')).toMatchObject({
    cause: { name: 'NotUnderstood', message: 'not known to this version: the step x' },
  });
});
