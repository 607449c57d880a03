import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { RpcServer } from '../hosts/grpc/serve-grpc.ts';

/** A TCP proxy before a server, whose connections can be made to bring nothing for a while without being cut. */
export interface Relay {
  /** On 127.0.0.1. */
  readonly port: number;
  /**
   * What is sent from now on does not arrive, both ways, until it speaks again, as TCP repeats it then; connections are
   * still taken.
   */
  silence(): void;
  speak(): void;
  close(): void;
}

export async function relayTo({ port, host }: Pick<RpcServer, 'port' | 'host'>): Promise<Relay> {
  let silent = false;
  const sockets = new Set<Socket>();
  const relay = createServer((near) => {
    const far = connect(port, host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('data', (bytes) => to.write(bytes));
      from.on('close', () => to.destroy());
      if (silent) from.pause();
    }
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    port: (relay.address() as AddressInfo).port,
    silence: () => {
      silent = true;
      for (const socket of sockets) socket.pause();
    },
    speak: () => {
      silent = false;
      for (const socket of sockets) socket.resume();
    },
    close: () => {
      relay.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
