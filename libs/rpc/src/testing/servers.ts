import { openRemoteService } from '../client/remote.ts';
import type { RemoteOptions, RemoteService } from '../client/remote.ts';
import { serve } from '../hosts/grpc/serve-grpc.ts';
import type { RpcServer, ServeOptions } from '../hosts/grpc/serve-grpc.ts';
import { Secret } from '@tessera/kit';
import type { Subject } from './subject.ts';

/** The machine has other tests to run at the same time; deadlines have tests of their own. */
export const patienceMs = 20_000;

export const token = new Secret('a shared token for this test');

/** Servers on loopback and clients of them, which end with the test. */
export function servers(cleanUps: (() => Promise<void> | void)[]) {
  const clientOf = (target: string, options: Partial<RemoteOptions> = {}): RemoteService => {
    const credentials = { kind: 'token', token } as const;
    const remote = openRemoteService({
      target,
      as: 'token',
      credentials,
      defaultTimeoutMs: patienceMs,
      ...options,
    });
    cleanUps.push(() => remote.close());
    return remote;
  };
  return {
    async served(
      subject: Pick<Subject, 'built' | 'log'>,
      options: Partial<ServeOptions> = {},
    ): Promise<RpcServer> {
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
    },

    client(server: RpcServer): RemoteService {
      return clientOf(at(server));
    },

    clientOf,
  };
}

export function at(server: RpcServer): string {
  return `${server.host}:${server.port}`;
}
