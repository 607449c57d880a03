import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Backend {
  readonly httpPort: number;
  readonly managementPort: number;
}

const probeMs = 100;

/** A minimal TCP load balancer: round robin over the backends whose `/readyz` answers 200. */
export class Balancer {
  readonly #backends: readonly Backend[];
  readonly #ready = new Set<Backend>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #probe: NodeJS.Timeout | undefined;
  #turn = 0;

  constructor(backends: readonly Backend[]) {
    this.#backends = backends;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<void> {
    await new Promise<void>((listening) => this.#server.listen(0, '127.0.0.1', listening));
    this.#probe = setInterval(() => {
      for (const backend of this.#backends) void this.#look(backend);
    }, probeMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#probe);
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #look(backend: Backend): Promise<void> {
    const url = `http://127.0.0.1:${backend.managementPort}/readyz`;
    const isReady = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isReady) this.#ready.add(backend);
    else this.#ready.delete(backend);
  }

  /** Tries the backends in turn; closes the client's connection if none accepts it. */
  #accept(client: Socket): void {
    this.#track(client);
    const candidates = this.#backends.filter((backend) => this.#ready.has(backend));
    const first = (this.#turn += 1);
    const next = (tried: number): void => {
      const backend = candidates[(first + tried) % candidates.length];
      if (backend === undefined || tried === candidates.length) return void client.destroy();
      const upstream = connect({
        port: backend.httpPort,
        host: '127.0.0.1',
        allowHalfOpen: true,
        noDelay: true,
      });
      this.#track(upstream);
      const again = (): void => next(tried + 1);
      upstream.once('error', again);
      upstream.once('connect', () => {
        upstream.off('error', again);
        // Forwards an end as an end and a reset as a reset.
        client.pipe(upstream);
        upstream.pipe(client);
        client.once('error', () => upstream.resetAndDestroy());
        upstream.once('error', () => client.resetAndDestroy());
        client.once('close', () => upstream.destroy());
        upstream.once('close', () => client.destroySoon());
      });
    };
    next(0);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
