import { repeat, type Repetition } from './repeat.ts';

export interface NotedLaterOptions<T> {
  /** Writes what was noted since, of each key the last. What it fails to write comes again. */
  readonly write: (values: readonly T[]) => Promise<void>;
  /** Between two writes, in milliseconds. */
  readonly pauseMs: number;
  /** Keys between two writes; others are left out. */
  readonly capacity: number;
  /** Called after each write that failed. */
  readonly onError: (error: unknown, values: number) => void;
}

/** Notes what is written off the path of the request: of each key the last value. */
export class NotedLater<T> {
  readonly #options: NotedLaterOptions<T>;
  readonly #writes: Repetition;
  #noted = new Map<string, T>();

  constructor(options: NotedLaterOptions<T>) {
    this.#options = options;
    const { pauseMs } = options;
    // `#write` has told of the failure.
    this.#writes = repeat(() => this.#write(), { pauseMs, startsWithPause: true, onError: () => undefined });
  }

  note(key: string, value: T): void {
    if (this.#noted.size < this.#options.capacity || this.#noted.has(key)) this.#noted.set(key, value);
  }

  /** Writes what is left, once. */
  async close(): Promise<void> {
    await this.#writes.close();
    await this.#write();
  }

  async #write(): Promise<void> {
    const { write, onError } = this.#options;
    const noted = this.#noted;
    if (noted.size === 0) return;
    this.#noted = new Map();
    try {
      await write([...noted.values()]);
    } catch (error) {
      onError(error, noted.size);
      for (const [key, value] of noted) if (!this.#noted.has(key)) this.note(key, value);
    }
  }
}
