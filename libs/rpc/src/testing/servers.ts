import { connectPeer } from '../remote.ts';
import type { Peer } from '../remote.ts';
import { serve } from '../serve.ts';
import type { RpcServer, ServeOptions } from '../serve.ts';
import { Secret } from '@tessera/kit';
import type { Subject } from './subject.ts';

export const token = new Secret('a shared token for this test');

/** Servers on loopback and clients of them, which end with the test. */
export function servers(cleanUps: (() => Promise<void> | void)[]) {
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

    client(server: RpcServer): Peer {
      const peer = connectPeer({ target: at(server), as: 'token', credentials: { kind: 'token', token } });
      cleanUps.push(() => peer.close());
      return peer;
    },
  };
}

export function at(server: RpcServer): string {
  return `${server.host}:${server.port}`;
}
