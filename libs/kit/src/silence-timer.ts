/** Parts of the time, each of which the process must have lived through. */
const parts = 6;

/**
 * Notices that nothing was heard from a peer for a time in which this process could have heard it. A process that was
 * busy or suspended learns of a late timer before it reads what arrived meanwhile, so a late part counts once, however
 * late it is, and what has arrived is read before the decision.
 */
export class SilenceTimer {
  readonly #timer: NodeJS.Timeout;
  readonly #onSilent: () => void;
  #quietParts = 0;
  #stopped = false;

  /** @param onSilent called once, after which the timer has stopped */
  constructor(silenceMs: number, onSilent: () => void) {
    this.#onSilent = onSilent;
    this.#timer = setInterval(() => this.#pass(), silenceMs / parts).unref();
  }

  heard(): void {
    this.#quietParts = 0;
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  #pass(): void {
    this.#quietParts += 1;
    if (this.#quietParts < parts) return;
    // Sockets are read between timers and immediates.
    setImmediate(() => {
      if (this.#stopped || this.#quietParts < parts) return;
      this.stop();
      this.#onSilent();
    });
  }
}
