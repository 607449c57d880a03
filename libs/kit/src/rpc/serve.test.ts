import { Code } from '@connectrpc/connect';
import { Client, credentials as channelCredentials, Metadata, loadPackageDefinition } from '@grpc/grpc-js';
import type { ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { protoPath as healthProto } from 'grpc-health-check';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { connectPeer } from './remote.ts';
import { serve } from './serve.ts';
import type { RpcServer, ServeOptions } from './serve.ts';
import { Secret } from '../secret.ts';
import { createSubject, signRequest } from './testing/subject.ts';
import type { Subject } from './testing/subject.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const token = new Secret('a shared token for this test');

test.each(['0.0.0.0', '::', '192.0.2.1'])('calls without credentials are not served on %s', async (host) => {
  const { built, log } = createSubject();
  const started = serve(built, { host, port: 0, credentials: { kind: 'none' }, log });
  await expect(started).rejects.toThrow('on a loopback address only');
});

test('calls without credentials are served on a loopback address', async () => {
  const server = await served(createSubject(), { host: 'localhost', credentials: { kind: 'none' } });
  expect(['127.0.0.1', '::1']).toContain(server.host);
});

test('an address that is taken stops the start', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  cleanUps.push(() => void other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await expect(served(createSubject(), { port })).rejects.toThrow('EADDRINUSE');
});

test.each([
  ['a wrong token', new Secret('a shared token for that test')],
  ['a token of another length', new Secret('short')],
])('%s is unauthenticated, and the handler is not reached', async (_, wrong) => {
  const subject = createSubject();
  let reached = false;
  subject.sign = () => {
    reached = true;
    return {};
  };
  const server = await served(subject);
  const peer = connectPeer({ target: at(server), as: 'token', credentials: { kind: 'token', token: wrong } });
  cleanUps.push(() => peer.close());
  await expect(peer.client(KeysService).sign(signRequest())).rejects.toMatchObject({
    code: Code.Unauthenticated,
  });
  expect(reached).toBe(false);
  expect(JSON.stringify(subject.lines)).not.toContain(wrong.reveal());
});

test('a call without a token is unauthenticated', async () => {
  const server = await served(createSubject());
  const peer = connectPeer({ target: at(server), as: 'token', credentials: { kind: 'none' } });
  cleanUps.push(() => peer.close());
  await expect(peer.client(KeysService).sign(signRequest())).rejects.toMatchObject({
    code: Code.Unauthenticated,
  });
});

test('a caller with the token but without a name may call no method', async () => {
  const server = await served(createSubject());
  const client = stockClient(server);
  for (const name of [undefined, 'nobody', 'constructor']) {
    const failure = raw(client, '/tessera.keys.v1.KeysService/Sign', withToken(name));
    await expect(failure).rejects.toMatchObject({ code: Code.Unauthenticated });
  }
});

test('a method without callers on its list is closed to everyone', async () => {
  const server = await served(createSubject());
  const failure = raw(stockClient(server), '/tessera.keys.v1.KeysService/RotateKeys', withToken('token'));
  await expect(failure).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test('a request that does not parse is an invalid argument', async () => {
  const server = await served(createSubject());
  const failure = raw(
    stockClient(server),
    '/tessera.keys.v1.KeysService/Sign',
    withToken('token'),
    Buffer.from([0xff]),
  );
  await expect(failure).rejects.toMatchObject({ code: Code.InvalidArgument });
});

test('a stock gRPC client reads health, which follows the readiness of the service', async () => {
  const subject = createSubject();
  let trouble: Error | undefined = new Error('no database');
  subject.ready = async () => {
    if (trouble !== undefined) throw trouble;
  };
  const server = await served(subject, { readinessIntervalMs: 50 });
  const check = stockHealth(server);
  expect(await check('')).toBe('NOT_SERVING');
  trouble = undefined;
  await until(async () => (await check('')) === 'SERVING');
  expect(await check('tessera.keys.v1.KeysService')).toBe('SERVING');
  trouble = new Error('no database again');
  await until(async () => (await check('tessera.directory.v1.DirectoryService')) === 'NOT_SERVING');
  await expect(check('another.Service')).rejects.toMatchObject({ code: Code.NotFound });
});

test('a service whose readiness never answers is not serving', async () => {
  const subject = createSubject();
  subject.ready = () => new Promise(() => {});
  const server = await served(subject, { readinessIntervalMs: 50 });
  expect(await stockHealth(server)('')).toBe('NOT_SERVING');
});

test('health is not told to whoever has no token', async () => {
  const server = await served(createSubject());
  await expect(stockHealth(server, new Metadata())('')).rejects.toMatchObject({ code: Code.Unauthenticated });
});

test.each(['v1', 'v1alpha'])(
  'a stock gRPC client reads the services and their files by reflection %s',
  async (version) => {
    const server = await served(createSubject());
    const ask = stockReflection(server, version);
    const list = await ask({ listServices: '*' });
    const names = list.listServicesResponse?.service.map((service) => service.name);
    expect(names?.sort()).toEqual(['tessera.directory.v1.DirectoryService', 'tessera.keys.v1.KeysService']);
    const answer = await ask({ fileContainingSymbol: 'tessera.keys.v1.KeysService' });
    const files = answer.fileDescriptorResponse?.fileDescriptorProto ?? [];
    const described = files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    expect(described.map((file) => file.package)).toContain('tessera.keys.v1');
    const methods = described.flatMap((file) => file.service).flatMap((service) => service.method);
    expect(methods.map((method) => method.name)).toContain('GetPublicKeys');
  },
);

test('draining lets calls end, refuses new ones and says not serving first', async () => {
  const subject = createSubject();
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  subject.sign = async () => {
    arrived.resolve();
    await release.promise;
    return { tokens: ['ended'] };
  };
  const server = await served(subject, { drainMs: 10_000 });
  const keys = client(server).client(KeysService);
  const running = keys.sign(signRequest());
  await arrived.promise;
  const drained = server.drain();
  expect(server.drain()).toBe(drained);
  await expect(client(server).client(KeysService).sign(signRequest())).rejects.toMatchObject({
    code: 'temporarily_unavailable',
  });
  release.resolve();
  await expect(running).resolves.toMatchObject({ tokens: ['ended'] });
  await drained;
});

test('draining cuts what does not end in time', async () => {
  const subject = createSubject();
  const arrived = Promise.withResolvers<void>();
  subject.sign = () => {
    arrived.resolve();
    return new Promise(() => {});
  };
  const server = await served(subject, { drainMs: 50 });
  const running = client(server).client(KeysService).sign(signRequest(), { timeoutMs: 10_000 });
  const outcome = expect(running).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  await arrived.promise;
  const before = Date.now();
  await Promise.all([server.drain(), outcome]);
  expect(Date.now() - before).toBeLessThan(2_000);
});

test('draining ends streams as temporarily_unavailable and tells their handlers', async () => {
  const subject = createSubject();
  const told = Promise.withResolvers<void>();
  subject.watchChanges = async function* (_, context) {
    context.signal.addEventListener('abort', () => told.resolve());
    yield {};
    await told.promise;
  };
  const server = await served(subject, { drainMs: 5_000 });
  const read = async (): Promise<void> => {
    for await (const _ of client(server).client(DirectoryService).watchChanges({})) drained = server.drain();
  };
  let drained: Promise<void> | undefined;
  const before = Date.now();
  await expect(read()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  await told.promise;
  await drained;
  expect(Date.now() - before).toBeLessThan(2_000);
});

test('a connection that reached its age is left for a new one without a failed call', async () => {
  const subject = createSubject();
  subject.sign = async (request) => {
    await sleep(request.items.length);
    return {};
  };
  const server = await served(subject, { connectionAgeMs: 60 });
  const keys = client(server).client(KeysService);
  const end = Date.now() + 600;
  const callers = Array.from({ length: 8 }, async () => {
    while (Date.now() < end) await keys.sign(signRequest());
  });
  await Promise.all(callers);
});

async function served(subject: Subject, options: Partial<ServeOptions> = {}): Promise<RpcServer> {
  const server = await serve(subject.built, {
    host: '127.0.0.1',
    port: 0,
    credentials: { kind: 'token', token },
    log: subject.log,
    drainMs: 100,
    ...options,
  });
  cleanUps.push(() => server.drain());
  return server;
}

function client(server: RpcServer) {
  const peer = connectPeer({ target: at(server), as: 'token', credentials: { kind: 'token', token } });
  cleanUps.push(() => peer.close());
  return peer;
}

function at(server: RpcServer): string {
  return `${server.host}:${server.port}`;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

function stockClient(server: RpcServer): Client {
  const stock = new Client(at(server), channelCredentials.createInsecure());
  cleanUps.push(() => stock.close());
  return stock;
}

function withToken(caller?: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token.reveal()}`);
  if (caller !== undefined) metadata.set('x-tessera-caller', caller);
  return metadata;
}

function raw(
  stock: Client,
  path: string,
  metadata: Metadata,
  body = Buffer.alloc(0),
): Promise<Buffer | undefined> {
  const bytes = (value: Buffer): Buffer => value;
  return new Promise((resolve, reject) => {
    stock.makeUnaryRequest(path, bytes, bytes, body, metadata, {}, (error, response) => {
      if (error === null) resolve(response);
      else reject(error);
    });
  });
}

function stockHealth(server: RpcServer, metadata = withToken()): (service: string) => Promise<string> {
  const definition = loadSync(healthProto, { enums: String })['grpc.health.v1.Health'];
  const loaded = loadPackageDefinition({ Health: definition as ServiceClientConstructor['service'] });
  const Health = loaded['Health'] as ServiceClientConstructor;
  const stock = new Health(at(server), channelCredentials.createInsecure());
  cleanUps.push(() => stock.close());
  return (service) =>
    new Promise((resolve, reject) => {
      const answer = (error: Error | null, response?: { status: string }): void => {
        if (error === null) resolve(response?.status ?? '');
        else reject(error);
      };
      stock['Check']?.({ service }, metadata, answer);
    });
}

interface ReflectionAnswer {
  listServicesResponse?: { service: { name: string }[] };
  fileDescriptorResponse?: { fileDescriptorProto: Uint8Array[] };
}

function stockReflection(server: RpcServer, version: string): (request: object) => Promise<ReflectionAnswer> {
  const entry = createRequire(import.meta.url).resolve('@grpc/reflection');
  const proto = join(entry, `../../proto/grpc/reflection/${version}/reflection.proto`);
  const definition = loadSync(proto)[`grpc.reflection.${version}.ServerReflection`];
  const loaded = loadPackageDefinition({ Reflection: definition as ServiceClientConstructor['service'] });
  const Reflection = loaded['Reflection'] as ServiceClientConstructor;
  const stock = new Reflection(at(server), channelCredentials.createInsecure());
  cleanUps.push(() => stock.close());
  return (request) =>
    new Promise((resolve, reject) => {
      const stream = stock.makeBidiStreamRequest<object, ReflectionAnswer>(
        definitionOf(Reflection, 'ServerReflectionInfo').path,
        definitionOf(Reflection, 'ServerReflectionInfo').requestSerialize,
        definitionOf(Reflection, 'ServerReflectionInfo').responseDeserialize,
        withToken(),
      );
      stream.on('data', (answer: ReflectionAnswer) => {
        resolve(answer);
        stream.end();
      });
      stream.on('error', reject);
      stream.write(request);
    });
}

function definitionOf(constructor: ServiceClientConstructor, name: string) {
  const definition = constructor.service[name];
  if (definition === undefined) throw new Error(`no method ${name}`);
  return definition;
}
