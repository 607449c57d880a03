import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import type { CallLoad } from '../operations/operation.ts';
import { note } from './failures.ts';
import type { LoopResult } from './messages.ts';

/** A connection for calls with messages as bytes. */
export class Caller {
  readonly #client: Client;
  readonly #metadata = new Metadata();
  readonly #load: CallLoad;

  constructor(load: CallLoad) {
    this.#load = load;
    this.#client = new Client(load.target, credentials.createInsecure());
    for (const [name, value] of Object.entries(load.metadata)) this.#metadata.set(name, value);
  }

  /** Makes one call; resolves with whether its response was correct. */
  call(): Promise<boolean> {
    const same = (bytes: Buffer): Buffer => bytes;
    const { method } = this.#load;
    const message = this.#load.next();
    const deadline = Date.now() + 30_000;
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        method,
        same,
        same,
        message,
        this.#metadata,
        { deadline },
        (error, answer) => {
          const good = error === null && this.#load.accept(answer ?? Buffer.alloc(0));
          if (!good) note(error === null ? 'another answer' : `gRPC ${status[error.code]}`);
          resolve(good);
        },
      );
    });
  }

  /** Keeps `inFlight` calls in flight for some seconds. */
  async closedLoop(inFlight: number, seconds: number): Promise<LoopResult> {
    let operations = 0;
    let errors = 0;
    const started = performance.now();
    const end = started + seconds * 1000;
    const worker = async (): Promise<void> => {
      while (performance.now() < end) {
        if (await this.call()) operations += this.#load.perCall;
        else errors += 1;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    return { operations, errors, seconds: (performance.now() - started) / 1000 };
  }
}
