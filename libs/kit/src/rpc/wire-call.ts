import { status } from '@grpc/grpc-js';
import type { StatusObject } from '@grpc/grpc-js';
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { gunzip, inflate } from 'node:zlib';

/** How a call ends, where that is not well. */
export type Failure = Pick<StatusObject, 'code' | 'details'> & Partial<Pick<StatusObject, 'metadata'>>;

const prefixLength = 5;
/** The longest time a timer of Node can be set to; a call that may take longer has no timer. */
const longestTimerMs = 2 ** 31 - 1;
const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
const decompressors: ReadonlyMap<string, typeof gunzip> = new Map([
  ['gzip', gunzip],
  ['deflate', inflate],
]);

const contentType = 'application/grpc+proto';
const answerHeaders = [
  ':status',
  '200',
  'content-type',
  contentType,
  'grpc-accept-encoding',
  'identity,deflate,gzip',
] as const;
const answerOptions = { waitForTrailers: true, sendDate: false };
const refusalOptions = { endStream: true, sendDate: false };
const goodTrailers: OutgoingHttpHeaders = { 'grpc-status': 0 };

/** One call on the wire (gRPC over HTTP/2): messages in, messages and a status out. It ends once; what comes later is dropped. */
export class WireCall {
  readonly headers: IncomingHttpHeaders;
  /** Milliseconds since the Unix epoch; Infinity without a deadline. */
  readonly deadline: number = Infinity;
  readonly #stream: ServerHttp2Stream;
  readonly #maxMessageBytes: number;
  readonly #timer: NodeJS.Timeout | undefined;
  #answering = false;
  #ended = false;
  #trailers = goodTrailers;
  #onGone: (() => void) | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, maxMessageBytes: number) {
    this.headers = headers;
    this.#stream = stream;
    this.#maxMessageBytes = maxMessageBytes;
    // Every error is followed by `close`, which says all there is to know.
    stream.on('error', () => {});
    stream.once('close', () => this.#closed());
    const timeout = headers['grpc-timeout'];
    if (timeout === undefined) return;
    const timeoutMs = parseTimeout(timeout);
    if (timeoutMs === undefined) {
      this.fail({ code: status.INTERNAL, details: `Invalid grpc-timeout value "${String(timeout)}"` });
      return;
    }
    this.deadline = Date.now() + timeoutMs;
    if (timeoutMs <= longestTimerMs) this.#timer = setTimeout(() => this.#expire(), timeoutMs);
  }

  /** It has its status, or the peer gave it up. */
  get ended(): boolean {
    // A stream that was reset is closed some time before it is destroyed.
    return this.#ended || this.#stream.closed || this.#stream.destroyed;
  }

  /** Where the peer is, for the log. */
  get peer(): string {
    const socket = this.#stream.session?.socket;
    return socket?.remoteAddress === undefined ? 'unknown' : `${socket.remoteAddress}:${socket.remotePort}`;
  }

  /** `listener` is told once when the call ends without an answer of ours: given up, cut or too late. */
  onGone(listener: () => void): void {
    this.#onGone = listener;
  }

  /** Reads the one message of a request and hands it over when the peer has said all. What is no such message is refused here. */
  readMessage(take: (message: Buffer) => void): void {
    const pieces: Buffer[] = [];
    let length = 0;
    this.#stream.on('data', (piece: Buffer) => {
      if (this.ended) return;
      length += piece.length;
      if (length > prefixLength + this.#maxMessageBytes)
        this.fail(tooLong('Received', length, this.#maxMessageBytes));
      else pieces.push(piece);
    });
    this.#stream.on('end', () => {
      if (this.ended) return;
      const [first] = pieces;
      const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
      if (bytes.length < prefixLength || bytes.length !== prefixLength + bytes.readUInt32BE(1)) {
        this.fail({ code: status.UNIMPLEMENTED, details: 'the request has to be one message' });
      } else if (bytes[0] === 0) take(bytes.subarray(prefixLength));
      else this.#decompress(bytes.subarray(prefixLength), take);
    });
  }

  /** Reads the messages of a request that is a stream, one by one, uncompressed ones only. */
  async *messages(): AsyncGenerator<Buffer, void> {
    let held: Buffer = Buffer.alloc(0);
    for await (const piece of this.#stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      held = held.length === 0 ? piece : Buffer.concat([held, piece]);
      while (held.length >= prefixLength) {
        const end = prefixLength + held.readUInt32BE(1);
        if (end > prefixLength + this.#maxMessageBytes)
          return this.fail(tooLong('Received', end, this.#maxMessageBytes));
        if (held[0] !== 0) return this.fail(unsupported(this.headers['grpc-encoding']));
        if (held.length < end) break;
        yield held.subarray(prefixLength, end);
        held = held.subarray(end);
      }
    }
  }

  /** The one message of the answer, and its good end. */
  answer(message: Buffer): void {
    if (this.ended || !this.#fits(message)) return;
    this.#ended = true;
    this.#begin();
    this.#stream.end(framed(message));
  }

  /** One message of several. False: the peer is behind, and `drain` of the returned stream says when it is not. */
  write(message: Buffer): boolean {
    if (this.ended || !this.#fits(message)) return true;
    this.#begin();
    return this.#stream.write(framed(message));
  }

  /** Emits `drain` when the peer caught up. */
  get outgoing(): NodeJS.EventEmitter {
    return this.#stream;
  }

  /** The good end of several messages. */
  end(): void {
    if (this.ended) return;
    this.#ended = true;
    this.#begin();
    this.#stream.end();
  }

  /** The end of a call that did not go well, also after some messages. */
  fail(failure: Failure): void {
    if (this.ended) return;
    this.#ended = true;
    const trailers = trailersOf(failure);
    if (this.#answering) {
      this.#trailers = trailers;
      this.#stream.end();
    } else {
      this.#stream.respond({ ':status': 200, 'content-type': contentType, ...trailers }, refusalOptions);
      // What the peer still sends is dropped.
      this.#stream.resume();
    }
  }

  /** Says in HTTP that this is no gRPC. */
  refuseMediaType(): void {
    this.#ended = true;
    this.#stream.respond({ ':status': 415 }, refusalOptions);
    this.#stream.resume();
  }

  #begin(): void {
    if (this.#answering) return;
    this.#answering = true;
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(this.#trailers));
    this.#stream.respond(answerHeaders, answerOptions);
  }

  #fits(message: Buffer): boolean {
    if (message.length <= this.#maxMessageBytes) return true;
    this.fail(tooLong('Sent', message.length, this.#maxMessageBytes));
    this.#gone();
    return false;
  }

  #decompress(message: Buffer, take: (message: Buffer) => void): void {
    const encoding = this.headers['grpc-encoding'];
    const decompress = decompressors.get(String(encoding));
    if (decompress === undefined) return this.fail(unsupported(encoding));
    decompress(message, { maxOutputLength: this.#maxMessageBytes }, (error, expanded) => {
      if (error === null) return this.ended ? undefined : take(expanded);
      if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
        const details = `Received message that decompresses to a size larger than ${this.#maxMessageBytes}`;
        this.fail({ code: status.RESOURCE_EXHAUSTED, details });
      } else this.fail({ code: status.INTERNAL, details: 'Failed to decompress message' });
    });
  }

  #expire(): void {
    this.fail({ code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' });
    this.#gone();
  }

  #closed(): void {
    clearTimeout(this.#timer);
    if (!this.#ended) this.#gone();
  }

  #gone(): void {
    const listener = this.#onGone;
    this.#onGone = undefined;
    listener?.();
  }
}

/** Milliseconds of a `grpc-timeout`; undefined for what is none. */
function parseTimeout(value: string | string[]): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(value)) ?? [];
  return amount === undefined ? undefined : Math.floor(Number(amount) * (unitMs[unit] ?? 0));
}

function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixLength + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixLength);
  return frame;
}

function trailersOf({ code, details, metadata }: Failure): OutgoingHttpHeaders {
  return { 'grpc-status': code, 'grpc-message': encodeURI(details), ...metadata?.toHttp2Headers() };
}

function tooLong(what: 'Received' | 'Sent', length: number, limit: number): Failure {
  return {
    code: status.RESOURCE_EXHAUSTED,
    details: `${what} message larger than max (${length} vs. ${limit})`,
  };
}

function unsupported(encoding: string | string[] | undefined): Failure {
  const details = `Received message compressed with unsupported encoding "${String(encoding ?? 'identity')}"`;
  return { code: status.UNIMPLEMENTED, details };
}
