import { Code } from '@connectrpc/connect';
import { constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import {
  contentType,
  FrameError,
  framed,
  longestTimerMs,
  messagesIn,
  prefixLength,
  tooLong,
} from './frames.ts';
import type { Pulse, Waiting } from './pulse.ts';
import { detailKey, ok } from './wire-errors.ts';
import type { WireStatus } from './wire-errors.ts';

/** One attempt of a call. */
export interface Attempt {
  /** Of the form `/<service>/<method>`. */
  readonly path: string;
  readonly body: Buffer;
  /** What says who calls and what travels along: names and values in turn. */
  readonly headers: readonly string[];
  /** Milliseconds since the Unix epoch, or Infinity. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
  /** Largest message taken, in bytes. */
  readonly maxMessageBytes: number;
}

/** How it ended. */
export interface Ending {
  readonly status: WireStatus;
  /** It was not sent, or the peer said that it did nothing about it: any call may be sent again. */
  readonly untouched: boolean;
}

/** How it ended, and the message it brought, if it brought one. */
export interface Outcome extends Ending {
  readonly message: Buffer | undefined;
}

type OnEnd = (status: WireStatus, untouched: boolean) => void;

/**
 * One unary attempt. Trouble is a status; never rejects.
 * @param session undefined: the connection is gone
 * @param pulse of the session: ends the call where the peer falls silent
 */
export function exchange(
  session: ClientHttp2Session | undefined,
  attempt: Attempt,
  pulse?: Pulse,
): Promise<Outcome> {
  const unsent = whyNotSent(session, attempt);
  if (session === undefined || unsent !== undefined) {
    return Promise.resolve({ ...unsentEnding(unsent), message: undefined });
  }
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const call = new SentCall(session, attempt, (status, untouched) => {
      pulse?.ended(call);
      resolve(status.code === ok ? outcomeOf(pieces) : { status, message: undefined, untouched });
    });
    call.stream.on('data', (piece: Buffer) => {
      length += piece.length;
      if (length <= prefixLength + attempt.maxMessageBytes) pieces.push(piece);
      else call.end(tooLong('Received', length - prefixLength, attempt.maxMessageBytes));
    });
    pulse?.sent(call);
  });
}

/**
 * A server stream. The next message is read when it is asked for, so a slow consumer slows the producer; leaving the
 * loop cancels the call. How it ended is the generator's return value.
 */
export async function* receive(
  session: ClientHttp2Session | undefined,
  attempt: Attempt,
): AsyncGenerator<Buffer, Ending> {
  const unsent = whyNotSent(session, attempt);
  if (session === undefined || unsent !== undefined) return unsentEnding(unsent);
  const ended = Promise.withResolvers<Ending>();
  const call = new SentCall(session, attempt, (status, untouched) => ended.resolve({ status, untouched }));
  let left = true;
  try {
    const pieces = call.stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    yield* messagesIn(pieces, attempt.maxMessageBytes, () => undefined);
    left = false;
  } catch (error) {
    // What else breaks a stream off has a status of its own.
    if (error instanceof FrameError) call.end(error.status);
    left = false;
  } finally {
    if (left) call.end({ code: Code.Canceled, details: 'the consumer left' });
    // What was not read would keep the stream, and with it the connection.
    call.stream.destroy();
  }
  return ended.promise;
}

const unconnected: WireStatus = { code: Code.Unavailable, details: 'the connection is closed' };
const silent: WireStatus = { code: Code.Unavailable, details: 'the peer fell silent' };
export const gaveUp: WireStatus = { code: Code.Canceled, details: 'the caller gave up' };

/** Asked in the same turn as it is sent: what happened before that is heard by no listener. */
function whyNotSent(session: ClientHttp2Session | undefined, { signal }: Attempt): WireStatus | undefined {
  if (signal?.aborted === true) return gaveUp;
  return session === undefined || session.closed || session.destroyed ? unconnected : undefined;
}

function unsentEnding(status: WireStatus = unconnected): Ending {
  return { status, untouched: status !== gaveUp };
}

const requestOptions = { endStream: false };

/** A call on the wire (gRPC over HTTP/2), until its status is known: by the peer's trailers, or by what happened instead. */
class SentCall implements Waiting {
  readonly stream: ClientHttp2Stream;
  readonly #session: ClientHttp2Session;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #leave = (): void => this.end(gaveUp);
  #onEnd: OnEnd | undefined;
  #answered = false;
  #error: NodeJS.ErrnoException | undefined;
  #received: WireStatus | undefined;

  constructor(session: ClientHttp2Session, attempt: Attempt, onEnd: OnEnd) {
    const { path, headers, deadline, signal, body } = attempt;
    const remainingMs = Math.max(1, Math.ceil(deadline - Date.now()));
    const stream = session.request(headersOf(path, headers, remainingMs), requestOptions);
    this.stream = stream;
    this.#session = session;
    this.#onEnd = onEnd;
    this.#signal = signal;
    const take = (received: IncomingHttpHeaders): void => this.#take(received);
    stream.on('response', take);
    stream.on('trailers', take);
    // Every error is followed by `close`.
    stream.on('error', (error) => {
      this.#error = error;
    });
    stream.on('close', () => this.#closed());
    if (remainingMs <= longestTimerMs) {
      this.#timer = setTimeout(
        () => this.end({ code: Code.DeadlineExceeded, details: 'Deadline exceeded' }),
        remainingMs,
      );
    }
    signal?.addEventListener('abort', this.#leave, { once: true });
    stream.end(framed(body));
  }

  /** Ends it with a status of this side's, unless it has one. */
  end(status: WireStatus, untouched = false): void {
    const onEnd = this.#onEnd;
    if (onEnd === undefined) return;
    this.#onEnd = undefined;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#leave);
    if (!this.stream.closed) this.stream.close(constants.NGHTTP2_CANCEL);
    onEnd(status, untouched);
  }

  /** The peer said nothing for too long. */
  giveUp(): void {
    this.end(silent);
  }

  #take(headers: IncomingHttpHeaders): void {
    this.#answered = true;
    this.#received = statusIn(headers) ?? this.#received;
  }

  #closed(): void {
    // Without an id it was never sent: the connection has used up its own, and has to be left.
    const unsent = this.stream.id === undefined;
    if (unsent) this.#session.close();
    this.end(this.#received ?? this.#lost(), unsent || this.#refused());
  }

  /** Said of the stream itself: what ends a connection leaves its code on streams that were taken. */
  #refused(): boolean {
    const isOfStream = this.#error?.code === 'ERR_HTTP2_STREAM_ERROR';
    return isOfStream && !this.#answered && this.stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
  }

  /** Why there are no trailers. */
  #lost(): WireStatus {
    const { rstCode, id } = this.stream;
    const neverBegan = id === undefined || (rstCode === constants.NGHTTP2_NO_ERROR && !this.#answered);
    if (neverBegan || this.#session.destroyed || gone.has(rstCode)) {
      return { code: Code.Unavailable, details: 'the connection or the stream was cut' };
    }
    const code = rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM ? Code.ResourceExhausted : Code.Internal;
    return { code, details: `the stream ended without a status, with code ${rstCode} of HTTP/2` };
  }
}

/** Codes of HTTP/2 by which a peer leaves a stream or does not take it; other ones say that it is broken. */
const gone: ReadonlySet<number | undefined> = new Set([
  constants.NGHTTP2_CANCEL,
  constants.NGHTTP2_REFUSED_STREAM,
]);

function headersOf(path: string, headers: readonly string[], remainingMs: number): string[] {
  const all = [':method', 'POST', ':path', path, ...headers, 'content-type', contentType, 'te', 'trailers'];
  if (remainingMs !== Infinity) all.push('grpc-timeout', timeoutOf(remainingMs));
  return all;
}

/** Eight digits at most (gRPC over HTTP/2, `TimeoutValue`). */
function timeoutOf(remainingMs: number): string {
  return remainingMs < 1e8 ? `${remainingMs}m` : `${Math.min(1e8 - 1, Math.ceil(remainingMs / 1000))}S`;
}

/** gRPC's own table for answers that are not from gRPC, as from a proxy; anything else is unknown. */
const codeOfHttpStatus: ReadonlyMap<number, Code> = new Map([
  [400, Code.Internal],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.Unimplemented],
  [429, Code.Unavailable],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
]);

/** The status that headers or trailers say; undefined when it comes later. */
function statusIn(headers: IncomingHttpHeaders): WireStatus | undefined {
  const code = headers['grpc-status'];
  // Node gives it as a number, whatever its types say.
  const http = Number(headers[':status'] ?? 200);
  if (code === undefined) {
    if (http === 200) return undefined;
    return {
      code: codeOfHttpStatus.get(http) ?? Code.Unknown,
      details: `the peer answered with HTTP ${http}`,
    };
  }
  if (code === '0') return good;
  const detail = headers[detailKey];
  return {
    code: /^\d{1,2}$/.test(String(code)) ? Number(code) : Code.Unknown,
    details: decoded(String(headers['grpc-message'] ?? '')),
    detail: detail === undefined ? undefined : Buffer.from(String(detail), 'base64'),
  };
}

const good: WireStatus = { code: ok, details: '' };

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function outcomeOf(pieces: readonly Buffer[]): Outcome {
  const [first] = pieces;
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  if (
    bytes.length < prefixLength ||
    bytes[0] !== 0 ||
    bytes.length !== prefixLength + bytes.readUInt32BE(1)
  ) {
    const status = { code: Code.Internal, details: 'the answer is not one uncompressed message' };
    return { status, message: undefined, untouched: false };
  }
  return { status: good, message: bytes.subarray(prefixLength), untouched: false };
}
