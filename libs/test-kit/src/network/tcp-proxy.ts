import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A network between a client and a real store that can be cut, frozen and mended. */
export interface TcpProxy {
  /** The store's address by way of this proxy. */
  readonly url: string;
  /** Drops every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Keeps connections open and passes nothing on. */
  freeze(): void;
  /** Everything works again. */
  mend(): Promise<void>;
  /** Changes what the store answers. */
  rewrite(change: ((answer: Buffer) => Buffer) | undefined): void;
  /** Connections that clients have made so far. */
  connections(): number;
  close(): Promise<void>;
}

/**
 * @param localAddress where the proxy connects to the store from, such as 127.0.0.3, which Redis does not count as
 * loopback
 */
export async function openTcpProxy(target: string, localAddress?: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let frozen = false;
  let change: ((answer: Buffer) => Buffer) | undefined;

  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const origin = localAddress === undefined ? {} : { localAddress };
    const store = connect({ port: Number(port), host: hostname, ...origin });
    for (const [from, to, isAnswer] of [
      [client, store, false],
      [store, client, true],
    ] as const) {
      sockets.add(from);
      from.on('data', (data: Buffer) => {
        if (!frozen) to.write(isAnswer && change !== undefined ? change(data) : data);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  await listen(0);
  const own = (server.address() as AddressInfo).port;
  const url = new URL(target);
  url.host = `127.0.0.1:${own}`;

  async function cut(): Promise<void> {
    const closed = new Promise((resolve) => {
      if (server.listening) server.close(resolve);
      else resolve(undefined);
    });
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  return {
    url: url.href,
    connections: () => connections,
    cut,
    freeze() {
      frozen = true;
    },
    async mend() {
      frozen = false;
      if (!server.listening) await listen(own);
    },
    rewrite(next) {
      change = next;
    },
    close: cut,
  };
}
