/**
 * How often the first of a line tries again without being told to: what it waits for may be held by another process.
 */
const sweepMs = 20;
/** Callers that may wait at once; more are not admitted. */
const maxWaiting = 5_000;

/** What a try came to: `busy` keeps the caller in the line. */
export interface Tried {
  readonly busy: boolean;
}

interface Waiter<T extends Tried> {
  readonly attempt: () => Promise<T>;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
  readonly patientUntil: number;
}

interface Line<T extends Tried> {
  readonly waiters: Waiter<T>[];
  readonly sweep: NodeJS.Timeout;
  /** Those of them who try at present; they come back to the front if it is in vain. */
  trying: number;
}

/** Lines of callers, by name, who wait until something is free; first come, first served. */
export class WaitingLines<T extends Tried> {
  readonly #patienceMs: number;
  readonly #lines = new Map<string, Line<T>>();
  #waiting = 0;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Whether somebody waits. */
  has(name: string): boolean {
    return this.#lines.has(name);
  }

  /** Joins the line and resolves with the first result that is not busy, or with a busy one once patience is over. */
  wait(name: string, busy: T, attempt: () => Promise<T>): Promise<T> {
    if (this.#waiting >= maxWaiting) return Promise.resolve(busy);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const line = this.#lines.get(name) ?? this.#open(name, busy);
    line.waiters.push({ attempt, resolve, reject, patientUntil: performance.now() + this.#patienceMs });
    this.#waiting += 1;
    return promise;
  }

  /** Lets the first of the line try, because something became free. */
  advance(name: string): void {
    const line = this.#lines.get(name);
    const first = line?.waiters.shift();
    if (line === undefined || first === undefined) return;
    line.trying += 1;
    first.attempt().then(
      (result) => {
        line.trying -= 1;
        if (result.busy && performance.now() < first.patientUntil) {
          line.waiters.unshift(first);
          return;
        }
        this.#leave(name, line);
        first.resolve(result);
        // There may be room for another.
        if (!result.busy) this.advance(name);
      },
      (error: unknown) => {
        line.trying -= 1;
        this.#leave(name, line);
        first.reject(error);
        this.advance(name);
      },
    );
  }

  #open(name: string, busy: T): Line<T> {
    const waiters: Waiter<T>[] = [];
    const sweep = setInterval(() => {
      const now = performance.now();
      // The first has been there longest. It may try once more below.
      while (waiters.length > 1 && (waiters[0]?.patientUntil ?? Infinity) < now) {
        waiters.shift()?.resolve(busy);
        this.#waiting -= 1;
      }
      this.advance(name);
    }, sweepMs);
    const line = { waiters, sweep, trying: 0 };
    this.#lines.set(name, line);
    return line;
  }

  #leave(name: string, { waiters, sweep, trying }: Line<T>): void {
    this.#waiting -= 1;
    if (waiters.length + trying > 0) return;
    clearInterval(sweep);
    this.#lines.delete(name);
  }
}
