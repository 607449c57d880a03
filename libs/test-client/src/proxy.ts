import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on loopback that can be cut, to make a store unavailable without stopping it. */
export class CuttableProxy {
  readonly #target: { host: string; port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #mode: 'open' | 'refuse' | 'silent' = 'open';
  port = 0;

  constructor(host: string, port: number) {
    this.#target = { host, port };
  }

  async start(): Promise<void> {
    const server = createServer((client) => this.#accept(client));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    const address = server.address();
    if (typeof address === 'object' && address !== null) this.port = address.port;
  }

  /** Breaks every connection and refuses new ones, or lets them hang without an answer. */
  cut(how: 'refuse' | 'silent' = 'refuse'): void {
    this.#mode = how;
    if (how === 'refuse') for (const socket of this.#sockets) socket.destroy();
    else for (const socket of this.#sockets) socket.pause();
  }

  heal(): void {
    this.#mode = 'open';
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) =>
      this.#server === undefined ? resolve(undefined) : this.#server.close(resolve),
    );
  }

  #accept(client: Socket): void {
    this.#track(client);
    if (this.#mode === 'refuse') {
      client.destroy();
      return;
    }
    if (this.#mode === 'silent') {
      client.pause();
      return;
    }
    const upstream = connect(this.#target.port, this.#target.host);
    this.#track(upstream);
    client.pipe(upstream).pipe(client);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.on('close', end);
    upstream.on('close', end);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
