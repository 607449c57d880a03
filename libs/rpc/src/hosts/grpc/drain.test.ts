import { Code } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { freshAuthority, freshCertificate, writeIdentity } from '../../testing/set-ups.ts';
import { at, servers, token } from '../../testing/servers.ts';
import { stockCall, stockHealthWatch } from '../../testing/stock-clients.ts';
import { declaring } from '../../testing/declaring.ts';
import { createSubject, writeRequest } from '../../testing/subject.ts';
import { TrialService, TrialStreamService } from '../../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const { served, client } = servers(cleanUps);

test('draining lets calls end and refuses new ones', async () => {
  const subject = createSubject();
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  subject.write = async () => {
    arrived.resolve();
    await release.promise;
    return { texts: ['ended'] };
  };
  const server = await served(subject, { drainMs: 10_000 });
  const trial = client(server).client(TrialService);
  const running = trial.write(writeRequest());
  await arrived.promise;
  const drained = server.drain();
  expect(server.drain()).toBe(drained);
  await expect(client(server).client(TrialService).write(writeRequest())).rejects.toMatchObject({
    code: 'temporarily_unavailable',
  });
  release.resolve();
  await expect(running).resolves.toMatchObject({ texts: ['ended'] });
  await drained;
});

test('draining cuts calls that do not end in time', async () => {
  const subject = createSubject();
  const arrived = Promise.withResolvers<void>();
  subject.write = () => {
    arrived.resolve();
    return new Promise(() => {});
  };
  const server = await served(subject, { drainMs: 50 });
  const running = client(server).client(TrialService).write(writeRequest(), { timeoutMs: 60_000 });
  const outcome = expect(running).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  await arrived.promise;
  const before = Date.now();
  await Promise.all([server.drain(), outcome]);
  expect(Date.now() - before).toBeLessThan(30_000);
});

test('draining ends streams as temporarily_unavailable and aborts their handlers', async () => {
  const subject = createSubject();
  const aborted = Promise.withResolvers<void>();
  subject.watch = async function* (_, context) {
    context.signal.addEventListener('abort', () => aborted.resolve());
    yield {};
    await aborted.promise;
  };
  const server = await served(subject, { drainMs: 60_000 });
  const read = async (): Promise<void> => {
    for await (const _ of client(server).client(TrialStreamService).watch({})) drained = server.drain();
  };
  let drained: Promise<void> | undefined;
  const before = Date.now();
  await expect(read()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  await aborted.promise;
  await drained;
  expect(Date.now() - before).toBeLessThan(30_000);
});

test('draining ends a stream whose access token is still being verified', async () => {
  const subject = createSubject();
  let reached = false;
  subject.watch = async function* () {
    reached = true;
    yield {};
    await new Promise(() => {});
  };
  const judging = Promise.withResolvers<void>();
  const judged = Promise.withResolvers<void>();
  const bearer = async () => {
    judging.resolve();
    await judged.promise;
    return {
      caller: 'token',
      principal: { kind: 'client', id: 'orders-api' },
      scopes: ['orders.read'],
    } as const;
  };
  const service = declaring(TrialStreamService, { watch: { scopes: ['orders.read'] } });
  const routes = subject.built.routes
    .filter((route) => route.service.typeName === service.typeName)
    .map((route) => ({ ...route, service, bearer }));
  const server = await served({ ...subject, built: { ...subject.built, routes } }, { drainMs: 60_000 });
  const metadata = new Metadata();
  metadata.set('authorization', 'Bearer good');
  const call = stockCall(at(server), '/tessera.trial.v1.TrialStreamService/Watch', metadata);
  const outcome = expect(call).rejects.toMatchObject({ code: Code.Unavailable });
  await judging.promise;
  const before = Date.now();
  const drained = server.drain();
  judged.resolve();
  await Promise.all([outcome, drained]);
  expect(Date.now() - before).toBeLessThan(30_000);
  expect(reached).toBe(false);
});

test('draining ends the health watch of a stock client after it was notified', async () => {
  const server = await served(createSubject(), { drainMs: 60_000 });
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token.reveal()}`);
  const statuses: string[] = [];
  const serving = Promise.withResolvers<void>();
  const watch = stockHealthWatch(at(server), metadata, (status) => {
    statuses.push(status);
    serving.resolve();
  });
  const outcome = expect(watch).rejects.toMatchObject({ code: Code.Unavailable });
  await serving.promise;
  const before = Date.now();
  await Promise.all([server.drain(), outcome]);
  expect(Date.now() - before).toBeLessThan(30_000);
  expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
});

test('draining cuts a connection whose handshake ends late', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'drain-'));
  cleanUps.push(() => rm(directory, { recursive: true }));
  const authority = await freshAuthority();
  const files = await writeIdentity(directory, 'keys', authority);
  const { cert, key } = await freshCertificate(authority, 'token');
  const server = await served(createSubject(), {
    credentials: { kind: 'mtls', ...files },
    drainMs: 500,
  });
  const socket = connect(server.port, server.host);
  cleanUps.push(() => void socket.destroy());
  await once(socket, 'connect');
  // Until the server has it, too.
  await sleep(100);
  const before = Date.now();
  const drained = server.drain();
  const late = connectTls({
    socket,
    servername: 'keys',
    ca: authority.cert,
    cert,
    key,
    ALPNProtocols: ['h2'],
  });
  await once(late, 'secureConnect');
  await Promise.all([once(late.resume(), 'close'), drained]);
  expect(Date.now() - before).toBeLessThan(30_000);
});
