import { Code } from '@connectrpc/connect';
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { gunzip, inflate } from 'node:zlib';
import {
  contentType,
  FrameError,
  framed,
  longestTimerMs,
  messagesIn,
  prefixLength,
  tooLong,
  unsupported,
} from './frames.ts';
import { detailKey } from './wire-errors.ts';
import type { WireStatus } from './wire-errors.ts';

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
      this.fail({ code: Code.Internal, details: `Invalid grpc-timeout value "${String(timeout)}"` });
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
        this.fail({ code: Code.Unimplemented, details: 'the request has to be one message' });
      } else if (bytes[0] === 0) take(bytes.subarray(prefixLength));
      else this.#decompress(bytes.subarray(prefixLength), take);
    });
  }

  /** Reads the messages of a request that is a stream, one by one, uncompressed ones only. */
  async *messages(): AsyncGenerator<Buffer, void> {
    const pieces = this.#stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    try {
      yield* messagesIn(pieces, this.#maxMessageBytes, () => this.headers['grpc-encoding']);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.fail(error.status);
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

  /** Emits `drain` when the peer caught up, and `close` when all is said. */
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
  fail(failure: WireStatus): void {
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
        this.fail({ code: Code.ResourceExhausted, details });
      } else this.fail({ code: Code.Internal, details: 'Failed to decompress message' });
    });
  }

  #expire(): void {
    this.fail({ code: Code.DeadlineExceeded, details: 'Deadline exceeded' });
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

function trailersOf({ code, details, detail }: WireStatus): OutgoingHttpHeaders {
  const said = { 'grpc-status': code, 'grpc-message': encodeURI(details) };
  return detail === undefined ? said : { ...said, [detailKey]: detail.toString('base64') };
}
