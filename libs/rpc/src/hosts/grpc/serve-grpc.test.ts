import { Code } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { openRemoteService } from '../../client/remote.ts';
import { serve } from './serve-grpc.ts';
import { Secret } from '@tessera/kit';
import { at, patienceMs, servers, token } from '../../testing/servers.ts';
import { stockCall, stockHealth, stockReflection } from '../../testing/stock-clients.ts';
import { createSubject, writeRequest } from '../../testing/subject.ts';
import { TrialService } from '../../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const { served, client } = servers(cleanUps);

test.each(['0.0.0.0', '::', '192.0.2.1'])('calls without credentials are not served on %s', async (host) => {
  const { built, log } = createSubject();
  const started = serve(built, { host, port: 0, credentials: { kind: 'none' }, log });
  await expect(started).rejects.toThrow('on a loopback address only');
});

test('calls without credentials are served on a loopback address', async () => {
  const server = await served(createSubject(), { host: 'localhost', credentials: { kind: 'none' } });
  expect(['127.0.0.1', '::1']).toContain(server.host);
});

test('an address in use fails the start', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  cleanUps.push(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(served(createSubject(), { port })).rejects.toThrow('EADDRINUSE');
});

test.each([
  ['a wrong token', new Secret('a shared token for that test')],
  ['a token of another length', new Secret('short')],
])('%s is unauthenticated, and the handler is not reached', async (_, wrong) => {
  const subject = createSubject();
  let reached = false;
  subject.write = () => {
    reached = true;
    return {};
  };
  const server = await served(subject);
  const peer = openRemoteService({
    target: at(server),
    as: 'token',
    credentials: { kind: 'token', token: wrong },
    defaultTimeoutMs: patienceMs,
  });
  cleanUps.push(() => peer.close());
  await expect(peer.client(TrialService).write(writeRequest())).rejects.toMatchObject({
    code: Code.Unauthenticated,
  });
  expect(reached).toBe(false);
  expect(JSON.stringify(subject.lines)).not.toContain(wrong.reveal());
});

test('a call without a token is unauthenticated', async () => {
  const server = await served(createSubject());
  const peer = openRemoteService({
    target: at(server),
    as: 'token',
    credentials: { kind: 'none' },
    defaultTimeoutMs: patienceMs,
  });
  cleanUps.push(() => peer.close());
  await expect(peer.client(TrialService).write(writeRequest())).rejects.toMatchObject({
    code: Code.Unauthenticated,
  });
});

test('a caller with the token but without a name may call no method', async () => {
  const server = await served(createSubject());
  for (const name of [undefined, 'nobody', 'constructor']) {
    const failure = stockCall(at(server), '/tessera.trial.v1.TrialService/Write', withToken(name));
    await expect(failure).rejects.toMatchObject({ code: Code.Unauthenticated });
  }
});

test('a method without callers on its list is closed to everyone', async () => {
  const server = await served(createSubject());
  const failure = stockCall(at(server), '/tessera.trial.v1.TrialService/Change', withToken('token'));
  await expect(failure).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test('a request that does not parse is an invalid argument', async () => {
  const server = await served(createSubject());
  const failure = stockCall(
    at(server),
    '/tessera.trial.v1.TrialService/Write',
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
  const check = stockHealth(at(server), withToken());
  expect(await check('')).toBe('NOT_SERVING');
  trouble = undefined;
  await until(async () => (await check('')) === 'SERVING');
  expect(await check('tessera.trial.v1.TrialService')).toBe('SERVING');
  trouble = new Error('no database again');
  await until(async () => (await check('tessera.trial.v1.TrialStreamService')) === 'NOT_SERVING');
  await expect(check('another.Service')).rejects.toMatchObject({ code: Code.NotFound });
});

test('a service whose readiness check hangs is not serving', async () => {
  const subject = createSubject();
  subject.ready = () => new Promise(() => {});
  const server = await served(subject, { readinessIntervalMs: 50 });
  expect(await stockHealth(at(server), withToken())('')).toBe('NOT_SERVING');
});

test('health is closed to callers without the token', async () => {
  const server = await served(createSubject());
  await expect(stockHealth(at(server), new Metadata())('')).rejects.toMatchObject({
    code: Code.Unauthenticated,
  });
});

test.each(['v1', 'v1alpha'])(
  'a stock gRPC client reads the services and their files by reflection %s',
  async (version) => {
    const server = await served(createSubject());
    const ask = stockReflection(at(server), version, withToken());
    const list = await ask({ listServices: '*' });
    const names = list.listServicesResponse?.service.map((service) => service.name);
    expect(names?.sort()).toEqual(['tessera.trial.v1.TrialService', 'tessera.trial.v1.TrialStreamService']);
    const answer = await ask({ fileContainingSymbol: 'tessera.trial.v1.TrialService' });
    const files = answer.fileDescriptorResponse?.fileDescriptorProto ?? [];
    const described = files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    expect(described.map((file) => file.package)).toContain('tessera.trial.v1');
    const methods = described.flatMap((file) => file.service).flatMap((service) => service.method);
    expect(methods.map((method) => method.name)).toContain('Read');
  },
);

/** Calls that run out of time while one is slow; how the slow one ends. */
async function slowBesideTimeOuts(timeOuts: number): Promise<string[]> {
  const subject = createSubject();
  const release = Promise.withResolvers<void>();
  let arrived = 0;
  subject.write = async () => {
    arrived += 1;
    if (arrived === 1) await release.promise;
    else await new Promise(() => {});
    return { texts: ['slow and good'] };
  };
  const server = await served(subject);
  const trial = client(server).client(TrialService);
  const slow = trial.write(writeRequest(), { timeoutMs: 15_000 });
  const outcome = slow.then(({ texts }) => texts);
  outcome.catch(() => {});
  await until(async () => arrived === 1);
  for (let sent = 0; sent < timeOuts; sent += 100) {
    const calls = Array.from({ length: 100 }, () => trial.write(writeRequest(), { timeoutMs: 100 }));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
  }
  release.resolve();
  return outcome;
}

test('a connection with very many cancelled calls is closed, and its calls are unavailable', async () => {
  // Node's limit (1,000, and 33 a second): streams opened only to be reset cost their sender nothing (CVE-2023-44487).
  await expect(slowBesideTimeOuts(1_500)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});

test('a connection that reached its age is replaced without a failed call', async () => {
  const subject = createSubject();
  subject.write = async (request) => {
    await sleep(request.items.length);
    return {};
  };
  // A call is made again once if its connection has just reached its age: twice, and it fails, as on a machine that
  // takes longer for a call than a connection lives.
  const server = await served(subject, { connectionAgeMs: 500 });
  let connections = 0;
  const relay = createServer((near) => {
    connections += 1;
    const far = connect(server.port, server.host);
    near
      .on('error', () => far.destroy())
      .pipe(far)
      .on('error', () => near.destroy())
      .pipe(near);
  }).listen(0, '127.0.0.1');
  cleanUps.push(() => void relay.close());
  await once(relay, 'listening');
  const { port } = relay.address() as AddressInfo;
  const trial = client({ ...server, port }).client(TrialService);
  const callers = Array.from({ length: 8 }, async () => {
    let calls = 0;
    while (connections < 4) {
      await trial.write(writeRequest());
      calls += 1;
    }
    return calls;
  });
  expect(Math.min(...(await Promise.all(callers)))).toBeGreaterThan(0);
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

function withToken(caller?: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token.reveal()}`);
  if (caller !== undefined) metadata.set('x-tessera-caller', caller);
  return metadata;
}
