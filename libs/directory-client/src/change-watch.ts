import { followStream } from '@tessera/kit';
import { isLocal, rootCall } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { type Runtime } from '@tessera/process';
import { ChangeKind, type DirectoryService, type WatchChangesResponse } from '@tessera/proto-gen/directory';

const shortestPauseMs = 100;
const longestPauseMs = 2_000;
const failuresUntilWarning = 3;

/**
 * The directory sends its position twice a second while it can read its changes. Silence means that changes may be
 * missed. A directory in this process ends the stream instead, and its silence only means that the process is busy.
 */
const silenceMs = 3_000;

export interface ChangeWatchDeps {
  readonly directory: Client<typeof DirectoryService>;
  readonly runtime: Pick<Runtime, 'log'>;
  readonly onChange: (change: WatchChangesResponse) => void;
  /** Changes may have been missed: everything that was read before must be dropped. */
  readonly onGap: () => void;
}

/** Follows the directory's changes, reconnects when the stream ends, and knows whether it is connected. */
export class ChangeWatch {
  readonly #deps: ChangeWatchDeps;
  readonly #follower: { close(): Promise<void> };
  #connected = false;
  #confirmed = false;
  #warned = false;
  #sequence = 0n;

  constructor(deps: ChangeWatchDeps) {
    this.#deps = deps;
    const { directory } = deps;
    this.#follower = followStream({
      open: (signal) =>
        directory.watchChanges(
          { afterSequence: this.#sequence },
          rootCall('directory-watch', undefined, signal),
        ),
      onMessage: (message, isFirst) => this.#receive(message, isFirst),
      onEnd: (reason, failures) => this.#end(reason, failures),
      silenceMs: isLocal(directory) ? undefined : silenceMs,
      shortestPauseMs,
      longestPauseMs,
    });
  }

  /** Whether a change of the directory arrives within a second. */
  get connected(): boolean {
    return this.#connected;
  }

  async close(): Promise<void> {
    await this.#follower.close();
    this.#connected = false;
  }

  #end({ message: reason }: Error, failures: number): void {
    this.#connected = false;
    // Servers close old connections regularly, so a single end is not logged.
    if (failures !== failuresUntilWarning) return;
    this.#warned = true;
    this.#deps.runtime.log.warn({ reason }, 'cannot watch the directory; caching for one second only');
  }

  /** Whether everything that was missed has arrived. */
  #receive(message: WatchChangesResponse, isFirst: boolean): boolean {
    const isPosition = message.kind === ChangeKind.UNSPECIFIED;
    const follows = isPosition ? this.#confirmed && message.sequence === this.#sequence : !isFirst;
    if (!follows) this.#deps.onGap();
    if (isPosition) this.#confirmed = true;
    else this.#deps.onChange(message);
    this.#sequence = message.sequence;
    // Missed changes follow the position that a stream resumes from: until they have arrived, the cache is not trusted.
    if (isFirst && follows) return false;
    this.#connected = true;
    if (this.#warned) this.#deps.runtime.log.info('watching the directory again');
    this.#warned = false;
    return true;
  }
}
