import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';

/** A call that waits for its answer. */
export interface Waiting {
  /** Has it end as unavailable. */
  giveUp(): void;
}

/** Milliseconds. */
export interface PulseTimes {
  /** How long nothing may be read while a call waits, until the peer is asked whether it is there. */
  readonly askAfterMs: number;
  /** How long it may leave that without a word. What keeps it busy for less costs no call. */
  readonly silenceMs: number;
}

const beatsUntilAsked = 4;

/**
 * Notices that a peer says nothing at all any more while calls wait for it: it is asked with a ping, and when nothing is
 * read after that either it is silent, and every call that waited that long is given up. A peer that is only slow with an
 * answer says so by answering pings. The connection stays, and the peer is taken at its word when it speaks again.
 *
 * Nothing is done for each call but to remember it: time is counted in beats, and a beat comes only while calls wait. A
 * process of ours that was stopped or busy counts one for all that time, and looks when it has read what came meanwhile.
 */
export class Pulse {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #beatMs: number;
  readonly #beatsOfSilence: number;
  readonly #onTurn: (silent: boolean) => void;
  /** With the beat at which each was sent; the oldest is the first. */
  readonly #waiting = new Map<Waiting, number>();
  #timer: NodeJS.Timeout | undefined;
  #beat = 0;
  #bytesRead = 0;
  #heardAt = 0;
  #askedAt: number | undefined;
  #silent = false;

  /** @param onTurn told when the peer fell silent, and when it speaks again */
  constructor(
    session: ClientHttp2Session,
    socket: Socket,
    { askAfterMs, silenceMs }: PulseTimes,
    onTurn: (silent: boolean) => void,
  ) {
    this.#session = session;
    this.#socket = socket;
    this.#beatMs = askAfterMs / beatsUntilAsked;
    this.#beatsOfSilence = Math.ceil(silenceMs / this.#beatMs);
    this.#onTurn = onTurn;
    session.once('close', () => this.#stop());
  }

  sent(call: Waiting): void {
    this.#waiting.set(call, this.#beat);
    if (this.#timer !== undefined) return;
    this.#hear();
    this.#timer = setInterval(() => setImmediate(() => this.#look()), this.#beatMs).unref();
  }

  ended(call: Waiting): void {
    this.#waiting.delete(call);
  }

  #look(): void {
    if (this.#timer === undefined) return;
    this.#beat += 1;
    this.#hear();
    const [oldest] = this.#waiting.values();
    // One that fell silent is listened to until it speaks.
    if (oldest === undefined) return this.#silent ? undefined : this.#stop();
    // A connection that closes cannot be pinged: what runs on it is left to its deadline.
    if (this.#session.closed || this.#session.destroyed) return;
    if (this.#askedAt === undefined) {
      const quietSince = Math.max(oldest, this.#heardAt);
      if (this.#beat - quietSince >= beatsUntilAsked && this.#session.ping(() => {}))
        this.#askedAt = this.#beat;
    } else if (!this.#silent && this.#isLong(this.#askedAt)) this.#turn(true);
    if (this.#silent) this.#giveUp();
  }

  #hear(): void {
    const { bytesRead } = this.#socket;
    if (bytesRead === this.#bytesRead) return;
    this.#bytesRead = bytesRead;
    this.#heardAt = this.#beat;
    this.#askedAt = undefined;
    if (this.#silent) this.#turn(false);
  }

  #giveUp(): void {
    for (const [call, sentAt] of this.#waiting) {
      if (!this.#isLong(sentAt)) return;
      call.giveUp();
    }
  }

  #isLong(since: number): boolean {
    return this.#beat - since >= this.#beatsOfSilence;
  }

  #turn(silent: boolean): void {
    this.#silent = silent;
    this.#onTurn(silent);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
