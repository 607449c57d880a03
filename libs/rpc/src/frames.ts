import { Code } from '@connectrpc/connect';
import type { WireStatus } from './wire-errors.ts';

/** Before each message of gRPC over HTTP/2: whether it is compressed, in one byte, and its length in four. */
export const prefixLength = 5;
/** The media type of gRPC with messages of protobuf. */
export const contentType = 'application/grpc+proto';
/** The longest time a timer of Node can be set to; a call that may take longer has no timer. */
export const longestTimerMs = 2 ** 31 - 1;

/** What arrived is no message that is taken; the status says why. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly status: WireStatus;

  constructor(status: WireStatus) {
    super(status.details);
    this.status = status;
  }
}

/** A message with its prefix, uncompressed. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixLength + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixLength);
  return frame;
}

/**
 * The messages in the pieces of a stream, one by one, uncompressed ones only.
 * @throws FrameError for a message that is too long, compressed or cut off
 */
export async function* messagesIn(
  pieces: AsyncIterable<Buffer>,
  maxMessageBytes: number,
  encoding: () => string | string[] | undefined,
): AsyncGenerator<Buffer, void> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece]);
    while (held.length >= prefixLength) {
      const length = held.readUInt32BE(1);
      if (length > maxMessageBytes) throw new FrameError(tooLong('Received', length, maxMessageBytes));
      if (held[0] !== 0) throw new FrameError(unsupported(encoding()));
      const end = prefixLength + length;
      if (held.length < end) break;
      yield held.subarray(prefixLength, end);
      held = held.subarray(end);
    }
  }
  if (held.length > 0) throw new FrameError({ code: Code.Internal, details: 'the last message is cut off' });
}

/** The status for a message over the limit, in bytes. */
export function tooLong(what: 'Received' | 'Sent', length: number, limit: number): WireStatus {
  return {
    code: Code.ResourceExhausted,
    details: `${what} message larger than max (${length} vs. ${limit})`,
  };
}

/** The status for a message that is compressed in a way that is not taken. */
export function unsupported(encoding: string | string[] | undefined): WireStatus {
  const details = `Received message compressed with unsupported encoding "${String(encoding ?? 'identity')}"`;
  return { code: Code.Unimplemented, details };
}
