import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Backend {
  readonly httpPort: number;
  readonly managementPort: number;
}

const probeMs = 100;
const probeTimeoutMs = 1_000;
/** A process that is busy may answer one probe late. */
const missedProbes = 3;

/** A minimal TCP load balancer: round robin over the backends whose `/readyz` answers 200. */
export class Balancer {
  readonly #backends: readonly Backend[];
  readonly #ready = new Set<Backend>();
  readonly #probing = new AbortController();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
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
    for (const backend of this.#backends) void this.#watch(backend);
  }

  async stop(): Promise<void> {
    this.#probing.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((closed) => this.#server.close(closed));
  }

  /** Leaves a backend out that says it is not ready, or that did not answer several times. */
  async #watch(backend: Backend): Promise<void> {
    const url = `http://127.0.0.1:${backend.managementPort}/readyz`;
    for (let missed = 0; !this.#probing.signal.aborted; await sleep(probeMs)) {
      const status = await fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) }).then(
        (answer) => answer.status,
        () => undefined,
      );
      missed = status === undefined ? missed + 1 : 0;
      if (status === 200) this.#ready.add(backend);
      else if (status !== undefined || missed >= missedProbes) this.#ready.delete(backend);
    }
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
