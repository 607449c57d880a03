import { Code } from '@connectrpc/connect';
import { silentLog } from '@tessera/test-kit';
import type { Authority } from '@tessera/test-kit';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import type { CallerName } from './call.ts';
import { watchCertificates } from './client/channel/certificates.ts';
import { warnOfTrust, type CertificateFilePaths } from './credentials.ts';
import { Secret } from '@tessera/kit';
import { openRemoteService } from './client/remote.ts';
import { serve } from './hosts/grpc/serve-grpc.ts';
import { freshAuthority, freshCertificate, writeIdentity } from './testing/set-ups.ts';
import { patienceMs } from './testing/servers.ts';
import { createSubject, writeRequest } from './testing/subject.ts';
import { TrialService } from './testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const reloadMs = 20;

test('the certificate identifies the caller, whatever the call claims', async () => {
  const { call, authority, directory } = await stand();
  await writeIdentity(directory, 'gateway', authority);
  await expect(call('token', 'token')).resolves.toMatchObject({ texts: ['token'] });
  await expect(call('gateway', 'token')).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test('a certificate without a caller name may call no method', async () => {
  const { call, authority, directory } = await stand();
  await writeIdentity(directory, 'stranger', authority);
  await expect(call('stranger', 'token')).rejects.toMatchObject({ code: Code.Unauthenticated });
});

test('a certificate for a name in another domain is refused at both ends (OTH-5)', async () => {
  const trustDomain = 'tessera.example';
  const { call, authority, directory } = await stand('keys.tessera.example', trustDomain);
  for (const name of ['token.tessera.example', 'token.evil.example'])
    await writeIdentity(directory, name, authority);
  await expect(call('token.tessera.example', 'token')).resolves.toMatchObject({ texts: ['token'] });
  await expect(call('token', 'token')).resolves.toMatchObject({ texts: ['token'] });
  await expect(call('token.evil.example', 'token')).rejects.toMatchObject({ code: Code.Unauthenticated });
  const pretender = await stand('keys.evil.example', trustDomain);
  await expect(pretender.call('token', 'token')).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});

test.each([
  [{ kind: 'none' }, undefined],
  [{ kind: 'token', token: new Secret('a shared token for this test') }, /TESSERA_RPC_TOKEN/],
  [{ kind: 'mtls', certificateFile: '', privateKeyFile: '', caFile: '' }, /TESSERA_RPC_TRUST_DOMAIN/],
  [
    { kind: 'mtls', certificateFile: '', privateKeyFile: '', caFile: '', trustDomain: 'a.example' },
    undefined,
  ],
] as const)('what is taken on trust is said in one line', (credentials, said) => {
  const lines: string[] = [];
  const log = Object.assign(silentLog(), { warn: (line: string) => lines.push(line) });
  warnOfTrust(credentials, log);
  expect(lines).toEqual(said === undefined ? [] : [expect.stringMatching(said)]);
});

test('a certificate of another authority gets no connection', async () => {
  const { call, authority, directory } = await stand();
  await writeIdentity(directory, 'foreign', await freshAuthority(), [authority]);
  await expect(call('foreign', 'token')).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});

test('a client refuses a server with the certificate of another process', async () => {
  const { call } = await stand();
  await expect(call('token', 'token', 'directory')).rejects.toMatchObject({
    code: 'temporarily_unavailable',
  });
  await expect(call('token', 'token', 'keys')).resolves.toMatchObject({ texts: ['token'] });
});

test('a peer without a certificate gets no connection', async () => {
  const { port, authority } = await stand();
  await expect(answered({ port, ca: authority.cert })).resolves.toBe(false);
});

test('both ends load certificates of a new authority without a restart', async () => {
  const { call, authority, directory, closePeers } = await stand();
  await expect(call('token', 'token')).resolves.toMatchObject({ texts: ['token'] });
  const next = await freshAuthority();
  // As an operator rotates: both trust the new authority, then the certificates change, then the old one goes.
  for (const trusted of [[authority, next], [next]]) {
    await writeIdentity(directory, 'keys', trusted.length === 2 ? authority : next, trusted);
    await writeIdentity(directory, 'token', trusted.length === 2 ? authority : next, trusted);
    await sleep(10 * reloadMs);
    closePeers();
    await expect(call('token', 'token')).resolves.toMatchObject({ texts: ['token'] });
  }
  await writeIdentity(directory, 'late', authority, [next]);
  await expect(call('late', 'token')).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});

test('an open channel reconnects with a renewed certificate', async () => {
  const { authority, directory, port, restart } = await stand();
  const files = await writeIdentity(directory, 'token', authority);
  const target = `127.0.0.1:${port}`;
  const peer = openRemoteService({
    target,
    as: 'token',
    peer: 'keys',
    credentials: { kind: 'mtls', ...files, reloadMs },
    log: silentLog(),
    defaultTimeoutMs: patienceMs,
  });
  cleanUps.push(() => peer.close());
  await expect(peer.client(TrialService).write(writeRequest())).resolves.toMatchObject({ texts: ['token'] });
  const next = await freshAuthority();
  await writeIdentity(directory, 'keys', next);
  await writeIdentity(directory, 'token', next);
  await sleep(10 * reloadMs);
  await restart();
  const answer = async (): Promise<unknown> => {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const response = await peer
        .client(TrialService)
        .write(writeRequest())
        .catch(() => undefined);
      if (response !== undefined) return response.texts;
      await sleep(30);
    }
    return undefined;
  };
  expect(await answer()).toEqual(['token']);
});

test('an address that does not name its peer fails the start, wherever it is in the list', async () => {
  const { directory, authority } = await stand();
  const files = await writeIdentity(directory, 'token', authority);
  const credentials = { kind: 'mtls', ...files } as const;
  for (const target of ['10.0.0.1:9', 'localhost:9,10.0.0.1:9']) {
    expect(() => openRemoteService({ target, as: 'token', credentials, log: silentLog() })).toThrow(
      'needs the name of the peer',
    );
  }
});

test('an incomplete rotation is not used: the last good certificate stays until both files are new', async () => {
  const { directory, authority } = await stand();
  const paths = await writeIdentity(directory, 'half', authority);
  const before = await readFile(paths.certificateFile, 'utf8');
  const troubles: string[] = [];
  const files = watchCertificates({ ...paths, reloadMs }, (error) => troubles.push(error.message));
  let current: string | undefined;
  const listener: Parameters<typeof files.addIdentityCertificateListener>[0] = (update) => {
    current = update?.certificate.toString();
  };
  files.addIdentityCertificateListener(listener);
  cleanUps.push(() => files.removeIdentityCertificateListener(listener));
  const { cert, key } = await freshCertificate(authority, 'half');
  await writeFile(paths.certificateFile, cert);
  await expect.poll(() => troubles).toEqual([expect.stringMatching(/key values mismatch/)]);
  expect(current).toBe(before);
  await rm(paths.privateKeyFile);
  await expect.poll(() => troubles).toHaveLength(2);
  expect(current).toBe(before);
  await writeFile(paths.privateKeyFile, key);
  await expect.poll(() => current).toBe(cert);
});

test('missing or mismatched certificates fail the start', async () => {
  const { directory, authority } = await stand();
  const paths = await writeIdentity(directory, 'bad', authority);
  const open = (changed: Partial<CertificateFilePaths>) => () =>
    watchCertificates({ ...paths, ...changed }, () => {});
  expect(open({ certificateFile: join(directory, 'nothing.crt') })).toThrow('nothing.crt');
  await writeFile(paths.privateKeyFile, (await freshCertificate(authority, 'bad')).key);
  expect(open({})).toThrow(/key values mismatch/);
});

interface Stand {
  readonly authority: Authority;
  readonly directory: string;
  readonly port: number;
  /** One signature, by a process that holds the certificate in these files and says it is `as`. */
  call(files: string, as: CallerName, expected?: CallerName): Promise<unknown>;
  closePeers(): void;
  restart(): Promise<void>;
}

/** A subject served with the certificate of `keys`; `write` answers who called. */
async function stand(ownName = 'keys', trustDomain?: string): Promise<Stand> {
  const directory = await mkdtemp(join(tmpdir(), 'rpc-'));
  cleanUps.push(() => rm(directory, { recursive: true }));
  const authority = await freshAuthority();
  const subject = createSubject();
  subject.write = (_, context) => ({ texts: [context.caller] });
  const { log, built } = subject;
  const own = await writeIdentity(directory, ownName, authority);
  await writeIdentity(directory, 'token', authority);
  const start = (port: number) =>
    serve(built, {
      host: '127.0.0.1',
      port,
      credentials: { kind: 'mtls', ...own, reloadMs, trustDomain },
      log,
      drainMs: 50,
    });
  let server = await start(0);
  cleanUps.push(() => server.drain());
  const peers: (() => void)[] = [];
  return {
    authority,
    directory,
    port: server.port,
    call: async (name, as, expected = 'keys') => {
      const files = pathsOf(directory, name);
      await readFile(files.certificateFile);
      const target = `127.0.0.1:${server.port}`;
      const credentials = { kind: 'mtls', ...files, trustDomain } as const;
      const peer = openRemoteService({
        target,
        as,
        peer: expected,
        credentials,
        log,
        defaultTimeoutMs: patienceMs,
      });
      peers.push(() => void peer.close());
      cleanUps.push(() => peer.close());
      return peer.client(TrialService).write(writeRequest());
    },
    closePeers: () => {
      for (const close of peers.splice(0)) close();
    },
    restart: async () => {
      await server.drain();
      server = await start(server.port);
    },
  };
}

function pathsOf(directory: string, name: string): CertificateFilePaths {
  return {
    certificateFile: join(directory, `${name}.crt`),
    privateKeyFile: join(directory, `${name}.key`),
    caFile: join(directory, `${name}.ca`),
  };
}

/** Whether a TLS client gets as far as the first bytes of HTTP/2. */
function answered(options: ConnectionOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({
      ...options,
      host: '127.0.0.1',
      servername: 'keys',
      ALPNProtocols: ['h2'],
    });
    socket.once('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
