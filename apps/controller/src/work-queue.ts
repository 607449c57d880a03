/** `failed`: it is to be done again, after a pause. */
export type Worked = 'done' | 'failed';

export interface WorkQueueOptions {
  /** How many are done at once. One thing is never done twice at once. */
  readonly concurrency: number;
  /** A rejection is as `failed`. */
  readonly work: (key: string) => Promise<Worked>;
  /** The pause after a failure: the first one, and twice as long after each further one, up to the longest. */
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
}

interface Entry {
  timer?: NodeJS.Timeout;
  failures: number;
  isAsked: boolean;
  isRunning: boolean;
}

/**
 * Things to be done by name, each alone, some at once. What fails is done again, later each time; what is asked for
 * while it is done is done once more.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Asks for something, at once. */
  add(key: string): void {
    if (this.#isStopped) return;
    const entry = this.#entries.get(key) ?? { failures: 0, isAsked: false, isRunning: false };
    this.#entries.set(key, entry);
    clearTimeout(entry.timer);
    entry.isAsked = true;
    if (!entry.isRunning) this.#waiting.add(key);
    this.#fill();
  }

  /** Asks again for everything that waits after a failure. */
  retry(): void {
    for (const [key, { failures, isRunning }] of this.#entries) if (failures > 0 && !isRunning) this.add(key);
  }

  /** How many wait or run now. */
  get size(): number {
    return this.#waiting.size + this.#running.size;
  }

  /** Starts nothing more, and resolves when what runs has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#waiting.clear();
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    await Promise.allSettled(this.#running);
  }

  #fill(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#waiting.delete(key);
      const run = this.#run(key);
      this.#running.add(run);
      void run.finally(() => {
        this.#running.delete(run);
        this.#fill();
      });
    }
  }

  async #run(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.isRunning = true;
    entry.isAsked = false;
    const worked = await this.#options.work(key).catch(() => 'failed' as const);
    entry.isRunning = false;
    entry.failures = worked === 'failed' ? entry.failures + 1 : 0;
    if (this.#isStopped) return;
    if (entry.isAsked) this.#waiting.add(key);
    else if (worked === 'done') this.#entries.delete(key);
    else entry.timer = setTimeout(() => this.add(key), this.#pauseAfter(entry.failures));
  }

  #pauseAfter(failures: number): number {
    const { firstDelayMs, longestDelayMs } = this.#options;
    return Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs);
  }
}
