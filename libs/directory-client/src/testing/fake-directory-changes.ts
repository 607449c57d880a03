import { setTimeout as pause } from 'node:timers/promises';
import { ChangeKind, Status } from '@tessera/proto-gen/directory';

interface Change {
  readonly sequence: bigint;
  readonly kind: ChangeKind;
  readonly tenantId: string;
  readonly id: string;
  readonly ended: boolean;
  readonly recordedAt: bigint;
}

/** One open stream of changes. */
interface Watcher {
  /** The last change that its reader has processed. */
  position: bigint;
  /** Whether it is to be sent its position. */
  isPositionDue: boolean;
  readonly wake: () => void;
}

/** A reader that does not process a change within this time is not waited for. */
const longestWaitMs = 100;

/** The changes of a fake directory, and the streams that send them. */
export class FakeDirectoryChanges {
  /** The position that each watcher asked to resume from. */
  readonly watchedAfter: bigint[] = [];
  /** Whether changes are withheld from watchers, as while the directory cannot read them. */
  isStalled = false;
  /** Changes up to this one are no longer on record: a watcher cannot resume before it. */
  forgotten = 0n;
  readonly #beatMs: number;
  readonly #isAvailable: () => boolean;
  #sequence = 1n;
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  #connections = new AbortController();

  /**
   * @param beatMs how often watchers receive their position; 0: only with `beat`
   * @param isAvailable watchers receive no position while the directory is unavailable
   */
  constructor(beatMs: number, isAvailable: () => boolean) {
    this.#beatMs = beatMs;
    this.#isAvailable = isAvailable;
  }

  /** Sends a change to the watchers. */
  send(kind: ChangeKind, tenantId: string, id: string, status: Status = Status.ACTIVE): void {
    this.#sequence += 1n;
    const recordedAt = BigInt(Math.floor(Date.now() / 1000));
    const ended = status !== Status.ACTIVE;
    this.#changes.push({ sequence: this.#sequence, kind, tenantId, id, ended, recordedAt });
    for (const { wake } of this.#watchers) wake();
  }

  /** Sends a change and resolves when the watchers have processed it. */
  async sendAndWait(kind: ChangeKind, tenantId: string, id: string, status: Status): Promise<void> {
    this.send(kind, tenantId, id, status);
    const sequence = this.#sequence;
    for (let waited = 0; waited < longestWaitMs; waited += 1) {
      await pause(1);
      if ([...this.#watchers].every(({ position }) => position >= sequence)) return;
    }
  }

  /** Sends all watchers their position, as the directory does twice a second while nothing changes. */
  beat(): void {
    for (const watcher of this.#watchers) this.#sendPosition(watcher);
  }

  /** Ends the streams of all watchers. */
  disconnect(): void {
    this.#connections.abort();
    this.#connections = new AbortController();
  }

  /** Number of open streams. */
  get watchers(): number {
    return this.#watchers.size;
  }

  /** A stream of changes, as `WatchChanges` sends it. */
  async *watch(after: bigint, since: bigint, signal: AbortSignal) {
    const ending = AbortSignal.any([signal, this.#connections.signal]);
    let wake: () => void = () => undefined;
    const position = this.#startOf(after, since);
    const watcher: Watcher = { position, isPositionDue: false, wake: () => wake() };
    this.#watchers.add(watcher);
    const beat = this.#beatMs > 0 && setInterval(() => this.#sendPosition(watcher), this.#beatMs);
    ending.addEventListener('abort', watcher.wake);
    try {
      yield positionAt(watcher.position);
      while (!ending.aborted) {
        const next = this.isStalled
          ? undefined
          : this.#changes.find(({ sequence }) => sequence > watcher.position);
        if (next !== undefined) {
          yield next;
          // The reader asks for more once it has processed the change.
          watcher.position = next.sequence;
        } else if (watcher.isPositionDue) {
          watcher.isPositionDue = false;
          yield positionAt(watcher.position);
        } else {
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    } finally {
      if (beat !== false) clearInterval(beat);
      this.#watchers.delete(watcher);
    }
  }

  #sendPosition(watcher: Watcher): void {
    if (!this.#isAvailable()) return;
    watcher.isPositionDue = true;
    watcher.wake();
  }

  /** Where a stream starts: where it resumes, else before the first change since a time, else now. */
  #startOf(after: bigint, since: bigint): bigint {
    if (after > 0n && after >= this.forgotten && after <= this.#sequence) return after;
    const recent = this.#changes.find(({ recordedAt }) => after === 0n && since > 0n && recordedAt >= since);
    return recent === undefined ? this.#sequence : recent.sequence - 1n;
  }
}

function positionAt(sequence: bigint) {
  return { sequence, kind: ChangeKind.UNSPECIFIED, tenantId: '', id: '' };
}
