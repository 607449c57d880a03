import { Code, ConnectError } from '@connectrpc/connect';

/** A stream that is being answered. */
export interface OpenStream {
  cancel(reason: ConnectError): void;
}

/** The streams that a server answers. They do not end by themselves; their consumers come back and reach another replica. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #draining = false;

  /** To be told when the server drains, which may be at once: a call can take its time until it gets here. */
  add(stream: OpenStream): void {
    this.#open.add(stream);
    if (this.#draining) stream.cancel(shuttingDown());
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
  }

  /** Ends all there are, and each that comes later. */
  drain(): void {
    this.#draining = true;
    for (const stream of this.#open) stream.cancel(shuttingDown());
  }
}

function shuttingDown(): ConnectError {
  return new ConnectError('the server is shutting down', Code.Unavailable);
}
