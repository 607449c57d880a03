import { setTimeout as pause } from 'node:timers/promises';
import { SilenceTimer } from '@tessera/kit';
import { isLocal, rootCall } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { type Runtime } from '@tessera/process';
import { ChangeKind, type DirectoryService, type WatchChangesResponse } from '@tessera/proto-gen/directory';

const shortestPauseMs = 100;
const longestPauseMs = 2_000;
const failuresUntilWarning = 3;

/**
 * The directory sends its position twice a second while it can read its changes. Silence means that changes may be missed.
 * A directory in this process ends the stream instead, and its silence only means that the process is busy.
 */
const silenceMs = 3_000;

export interface ChangeWatchDeps {
  readonly directory: Client<typeof DirectoryService>;
  readonly runtime: Pick<Runtime, 'log' | 'random'>;
  readonly onChange: (change: WatchChangesResponse) => void;
  /** Changes may have been missed: everything that was read before must be dropped. */
  readonly onGap: () => void;
}

/** Follows the directory's changes, reconnects when the stream ends, and knows whether it is connected. */
export class ChangeWatch {
  readonly #deps: ChangeWatchDeps;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #connected = false;
  #confirmed = false;
  #sequence = 0n;
  #failures = 0;

  constructor(deps: ChangeWatchDeps) {
    this.#deps = deps;
    this.#running = this.#run();
  }

  /** Whether a change of the directory arrives within a second. */
  get connected(): boolean {
    return this.#connected;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const reason = await this.#follow();
      this.#connected = false;
      this.#failures += 1;
      // Servers close old connections regularly, so a single end is not logged.
      if (this.#failures === failuresUntilWarning) {
        this.#deps.runtime.log.warn({ reason }, 'cannot watch the directory; caching for one second only');
      }
      await this.#backOff();
    }
  }

  /** Reads one stream to its end and resolves with the reason why it ended. */
  async #follow(): Promise<string> {
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, this.#closing.signal]);
    const { directory } = this.#deps;
    const silence = isLocal(directory) ? undefined : new SilenceTimer(silenceMs, () => ending.abort());
    try {
      const stream = directory.watchChanges(
        { afterSequence: this.#sequence },
        rootCall('directory-watch', undefined, signal),
      );
      let isFirst = true;
      for await (const message of stream) {
        silence?.heard();
        this.#receive(message, isFirst);
        isFirst = false;
      }
      return 'ended';
    } catch (error) {
      return ending.signal.aborted ? 'silent' : error instanceof Error ? error.message : 'failed';
    } finally {
      silence?.stop();
    }
  }

  #receive(message: WatchChangesResponse, isFirst: boolean): void {
    const isPosition = message.kind === ChangeKind.UNSPECIFIED;
    const follows = isPosition ? this.#confirmed && message.sequence === this.#sequence : !isFirst;
    if (!follows) this.#deps.onGap();
    if (isPosition) this.#confirmed = true;
    else this.#deps.onChange(message);
    this.#sequence = message.sequence;
    // Missed changes follow the position that a stream resumes from: until they have arrived, the cache is not trusted.
    if (isFirst && follows) return;
    this.#connected = true;
    if (this.#failures >= failuresUntilWarning) {
      this.#deps.runtime.log.info('watching the directory again');
    }
    this.#failures = 0;
  }

  /** Doubling pauses with jitter, so that clients do not reconnect to a restarted directory all at once. */
  async #backOff(): Promise<void> {
    const longest = Math.min(longestPauseMs, shortestPauseMs * 2 ** Math.min(this.#failures - 1, 10));
    const jitter = this.#deps.runtime.random.bytes(2).readUInt16BE() / 0x1_0000;
    const waiting = pause(longest * (0.5 + jitter / 2), undefined, {
      signal: this.#closing.signal,
      ref: false,
    });
    await waiting.catch(() => undefined);
  }
}
