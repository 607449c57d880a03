import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { RpcServer } from '../serve.ts';
import type { Place } from '../target.ts';

/** A TCP proxy before a server, whose connections can be made to bring nothing without being cut. */
export interface Relay {
  readonly place: Place;
  /** What is said from now on is lost, on both ways; connections are still taken. */
  silence(): void;
  /** What is said from now on arrives when it speaks again, as what a network sends once more. */
  hold(): void;
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
      from.on('error', () => to.destroy()).on('data', (bytes) => silent || to.write(bytes));
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    place: { host: '127.0.0.1', port: (relay.address() as AddressInfo).port },
    silence: () => {
      silent = true;
    },
    hold: () => {
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
