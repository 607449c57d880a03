import type { DescService } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { createAuthority } from '@tessera/test-kit';
import type { Authority } from '@tessera/test-kit';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallerName } from '../call.ts';
import type { CertificateFilePaths, RpcCredentials } from '../credentials.ts';
import { local } from '../hosts/in-process/local.ts';
import { openRemoteService } from '../client/remote.ts';
import type { RemoteService } from '../client/remote.ts';
import { serve } from '../hosts/grpc/serve-grpc.ts';
import { Secret } from '@tessera/kit';
import { patienceMs } from './servers.ts';
import type { Subject } from './subject.ts';

/** A subject that can be called, by one of the ways there are. */
export interface Reachable {
  client<S extends DescService>(service: S, as: CallerName): Client<S>;
  close(): Promise<void>;
}

export type SetUp = (subject: Subject) => Promise<Reachable>;

export const inProcess: SetUp = async (subject) => ({
  client: (service, as) => local(service, subject.built, as, subject.log),
  close: async () => {},
});

export const overLoopback: SetUp = (subject) => overTheWire(subject, () => ({ kind: 'none' }));

export const overSharedToken: SetUp = (subject) => {
  const token = new Secret('a shared token for this test');
  return overTheWire(subject, () => ({ kind: 'token', token }));
};

export const overMutualTls: SetUp = async (subject) => {
  const directory = await mkdtemp(join(tmpdir(), 'rpc-'));
  const authority = await freshAuthority();
  const names = ['keys', 'token', 'gateway', 'authorize', 'directory'];
  const paths = new Map<string, CertificateFilePaths>();
  for (const name of names) paths.set(name, await writeIdentity(directory, name, authority));
  const reachable = await overTheWire(subject, (name) => {
    const files = paths.get(name);
    if (files === undefined) throw new Error(`no certificate for ${name}`);
    return { kind: 'mtls', ...files };
  });
  return {
    client: reachable.client,
    close: async () => {
      await reachable.close();
      await rm(directory, { recursive: true });
    },
  };
};

/** Writes a new certificate of this name, over the one that was there; each file is replaced at once. */
export async function writeIdentity(
  directory: string,
  name: string,
  authority: Authority,
  trusted: readonly Authority[] = [authority],
): Promise<CertificateFilePaths> {
  await mkdir(directory, { recursive: true });
  const paths = {
    certificateFile: join(directory, `${name}.crt`),
    privateKeyFile: join(directory, `${name}.key`),
    caFile: join(directory, `${name}.ca`),
  };
  const issued = await freshCertificate(authority, name);
  await replace(paths.caFile, trusted.map((one) => one.cert).join(''));
  await replace(paths.privateKeyFile, issued.key);
  await replace(paths.certificateFile, issued.cert);
  return paths;
}

export async function freshCertificate(authority: Authority, name: string) {
  return authority.issue(name);
}

export async function freshAuthority(): Promise<Authority> {
  return createAuthority();
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function overTheWire(
  subject: Subject,
  credentialsOf: (name: CallerName) => RpcCredentials,
): Promise<Reachable> {
  const { log, built } = subject;
  const server = await serve(built, {
    host: '127.0.0.1',
    port: 0,
    credentials: credentialsOf('keys'),
    log,
    drainMs: 500,
  });
  const peers = new Map<CallerName, RemoteService>();
  const target = `127.0.0.1:${server.port}`;
  return {
    client: (service, as) => {
      const peer =
        peers.get(as) ??
        openRemoteService({
          target,
          as,
          credentials: credentialsOf(as),
          peer: 'keys',
          log,
          defaultTimeoutMs: patienceMs,
        });
      peers.set(as, peer);
      return peer.client(service);
    },
    close: async () => {
      for (const peer of peers.values()) await peer.close();
      await server.drain();
    },
  };
}
