import { setTimeout as pause } from 'node:timers/promises';
import { rootCall } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { type Kit } from '@tessera/process';
import { ChangeKind, type DirectoryService, type WatchChangesResponse } from '@tessera/proto-gen/directory';

const shortestPauseMs = 100;
const longestPauseMs = 2_000;
const failuresUntilWarning = 3;

/** The directory speaks twice a second as long as it can read its own changes; silence means that nothing is guarded. */
const silenceMs = 3_000;

export interface WatchOptions {
  readonly directory: Client<typeof DirectoryService>;
  readonly kit: Pick<Kit, 'log' | 'random'>;
  readonly onChange: (change: WatchChangesResponse) => void;
  /** Changes may have been missed: whatever was read before must go. */
  readonly onGap: () => void;
}

/** Follows the directory's changes, reconnects when the stream ends, and knows whether it is connected. */
export class Watch {
  readonly #options: WatchOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #connected = false;
  #confirmed = false;
  #sequence = 0n;
  #failures = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Whether a change of the directory would be heard of within a second. */
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
      // Servers end old connections now and then, so one end is nothing to speak of.
      if (this.#failures === failuresUntilWarning) {
        this.#options.kit.log.warn({ reason }, 'the directory cannot be watched, so little of it is cached');
      }
      await this.#backOff();
    }
  }

  /** Follows one stream to its end and says why it ended. */
  async #follow(): Promise<string> {
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, this.#closing.signal]);
    const silence = setTimeout(() => ending.abort(), silenceMs).unref();
    try {
      const stream = this.#options.directory.watchChanges(
        { afterSequence: this.#sequence },
        rootCall('directory-watch', undefined, signal),
      );
      let isFirst = true;
      for await (const message of stream) {
        silence.refresh();
        this.#hear(message, isFirst);
        isFirst = false;
      }
      return 'ended';
    } catch (error) {
      return ending.signal.aborted ? 'silent' : error instanceof Error ? error.message : 'failed';
    } finally {
      clearTimeout(silence);
    }
  }

  #hear(message: WatchChangesResponse, isFirst: boolean): void {
    const isPosition = message.kind === ChangeKind.UNSPECIFIED;
    const follows = isPosition ? this.#confirmed && message.sequence === this.#sequence : !isFirst;
    if (!follows) this.#options.onGap();
    if (isPosition) this.#confirmed = true;
    else this.#options.onChange(message);
    this.#sequence = message.sequence;
    // What was missed comes behind the position that a stream resumes from: until then nothing from before is trusted.
    if (isFirst && follows) return;
    this.#connected = true;
    if (this.#failures >= failuresUntilWarning) {
      this.#options.kit.log.info('the directory is watched again');
    }
    this.#failures = 0;
  }

  /** Doubling pauses with jitter, so that a directory that comes back is not met by everyone at once. */
  async #backOff(): Promise<void> {
    const longest = Math.min(longestPauseMs, shortestPauseMs * 2 ** Math.min(this.#failures - 1, 10));
    const jitter = this.#options.kit.random.bytes(2).readUInt16BE() / 0x1_0000;
    const waiting = pause(longest * (0.5 + jitter / 2), undefined, {
      signal: this.#closing.signal,
      ref: false,
    });
    await waiting.catch(() => undefined);
  }
}
