import { Code, ConnectError } from '@tessera/rpc';
import type { StreamItem } from './merge-streams.ts';
import { cursorOf, type Positions, type Sources } from './revocation-sources.ts';

/**
 * Every feed sends a message twice a second. When the heartbeat of the family feed has come so often without a message
 * of another feed, revocations may be missed. The clock says nothing about that: a busy process is late with all of
 * them.
 */
const longestSilence = 6;

/** The position in each feed, and how many heartbeats ago its last message arrived. */
export class WatchProgress {
  #positions: Positions;
  readonly #silence = { directory: 0, sessions: 0 };

  constructor(start: Positions) {
    this.#positions = start;
  }

  get cursor(): string {
    return cursorOf(this.#positions);
  }

  /** Throws UNAVAILABLE if any feed has been silent for too long. */
  advance(arrived: StreamItem<Sources>): void {
    this.#positions = { ...this.#positions, [arrived.from]: sequenceOf(arrived) };
    if (arrived.from !== 'families') this.#silence[arrived.from] = 0;
    if (!isHeartbeat(arrived)) return;
    this.#silence.directory += 1;
    this.#silence.sessions += 1;
    if (Math.max(this.#silence.directory, this.#silence.sessions) > longestSilence)
      throw new ConnectError('A revocation feed stopped responding.', Code.Unavailable);
  }
}

/** The positions of the family feed are the heartbeat of the whole stream, as `advance` checks the other feeds. */
export function isHeartbeat(arrived: StreamItem<Sources>): boolean {
  return arrived.from === 'families' && arrived.item.kind === 'position';
}

function sequenceOf(arrived: StreamItem<Sources>): number {
  if (arrived.from !== 'families') return Number(arrived.item.sequence);
  return arrived.item.kind === 'position' ? arrived.item.sequence : arrived.item.change.sequence;
}
