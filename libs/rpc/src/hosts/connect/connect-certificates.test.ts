import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { CertificateFilePaths } from '../../credentials.ts';
import { curl, servedOverConnect } from '../../testing/over-connect.ts';
import { freshAuthority, writeIdentity } from '../../testing/set-ups.ts';
import { createSubject } from '../../testing/subject.ts';
import { TrialService } from '../../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const path = '/tessera.trial.v1.TrialService/Read';

async function stand(options: Parameters<typeof servedOverConnect>[2] = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'connect-'));
  cleanUps.push(() => rm(directory, { recursive: true }));
  const authority = await freshAuthority();
  const subject = createSubject();
  subject.read = (_request, { caller }) => ({ entries: [{ id: caller }] });
  const own = await writeIdentity(directory, 'keys', authority);
  const credentials = { kind: 'mtls', ...own, reloadMs: 50 } as const;
  const { server } = await servedOverConnect(subject, cleanUps, { credentials, ...options });
  const url = `https://localhost:${server.port}`;
  const call = (ca: string, files?: CertificateFilePaths, ...options: string[]) => {
    const trust = ['--cacert', ca, '--resolve', `localhost:${server.port}:127.0.0.1`];
    const identity =
      files === undefined ? [] : ['--cert', files.certificateFile, '--key', files.privateKeyFile];
    const json = ['-H', 'content-type: application/json', '-d', '{}'];
    return curl(...trust, ...identity, ...json, ...options, `${url}${path}`);
  };
  return { directory, authority, subject, server, url, own, call };
}

test('the certificate says who calls, over HTTP/1.1 and HTTP/2', async () => {
  const { directory, authority, own, call } = await stand();
  const operator = await writeIdentity(directory, 'operator', authority);
  const authorize = await writeIdentity(directory, 'introspector', authority);
  for (const version of ['--http1.1', '--http2'])
    expect((await call(own.caFile, operator, version)).out).toBe('{"entries":[{"id":"operator"}]}\n200');
  const claimed = await call(own.caFile, authorize, '-H', 'x-tessera-caller: operator');
  expect(claimed.out).toMatch(/"introspector may not call [^]*\n403$/);
});

test('a stock gRPC client calls with a certificate', async () => {
  const { directory, authority, url, own } = await stand();
  const files = await writeIdentity(directory, 'token', authority);
  const nodeOptions = {
    ca: await readFile(own.caFile),
    cert: await readFile(files.certificateFile),
    key: await readFile(files.privateKeyFile),
  };
  const client = createClient(TrialService, createGrpcTransport({ baseUrl: url, nodeOptions }));
  expect((await client.read({})).entries[0]?.id).toBe('token');
});

test('without a certificate of ours there is no connection', async () => {
  const { directory, own, call } = await stand();
  expect((await call(own.caFile)).code).not.toBe(0);
  const foreign = await writeIdentity(directory, 'operator', await freshAuthority());
  expect((await call(own.caFile, foreign)).code).not.toBe(0);
});

test('where certificates are optional, only one of ours says who calls', async () => {
  const { directory, authority, own, call } = await stand({ certificates: 'optional' });
  const operator = await writeIdentity(directory, 'operator', authority);
  const foreign = await writeIdentity(join(directory, 'foreign'), 'operator', await freshAuthority());
  for (const version of ['--http1.1', '--http2']) {
    expect((await call(own.caFile, operator, version)).out).toMatch(/\n200$/);
    expect((await call(own.caFile, undefined, version)).out).toMatch(
      /present a client certificate[^]*\n401$/,
    );
    expect((await call(own.caFile, foreign, version)).out).toMatch(/\n401$/);
  }
});

test('new certificates are used without a restart', async () => {
  const { directory, authority, call } = await stand();
  const next = await freshAuthority();
  const operator = await writeIdentity(directory, 'operator', next);
  await writeIdentity(directory, 'keys', next, [next, authority]);
  await expect.poll(async () => (await call(operator.caFile, operator)).out).toMatch(/\n200$/);
});

test.each([
  ['does not shake hands', false],
  ['sends part of a head', true],
])('a connection that %s is cut', async (_what, shakesHands) => {
  const { server, own } = await stand({ certificates: 'optional', places: { headMs: 300 } });
  const socket = connect(server.port, '127.0.0.1');
  cleanUps.push(() => void socket.destroy());
  socket.on('error', () => undefined);
  const cut = once(socket, 'close');
  if (shakesHands) {
    const ca = await readFile(own.caFile);
    const secure = connectTls({ socket, ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] });
    secure.on('error', () => undefined);
    await once(secure, 'secureConnect');
    secure.write(`POST ${path} HTTP/1.1\r\nhost: a\r\n`);
    secure.resume();
  }
  await cut;
});
