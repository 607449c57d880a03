import { status } from '@grpc/grpc-js';
import type { ChannelInterface, Metadata, StatusObject } from '@grpc/grpc-js';

/** One attempt of a call over a channel. */
export interface Attempt {
  readonly path: string;
  readonly body: Buffer;
  readonly metadata: Metadata;
  /** Milliseconds since the Unix epoch, or Infinity. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}

/** How it ended, and the message it brought, if it brought one. */
export interface Outcome {
  readonly status: StatusObject;
  readonly message: Buffer | undefined;
}

/**
 * One unary attempt, driven on the channel itself: the client class of grpc-js would add an interceptor chain, an
 * emitter and a stack trace to every call. Trouble is a status; only a closed channel rejects.
 */
export function exchange(channel: ChannelInterface, attempt: Attempt): Promise<Outcome> {
  return new Promise((resolve) => {
    let message: Buffer | undefined;
    const call = channel.createCall(attempt.path, attempt.deadline, null, null, null);
    const abort = (): void => call.cancelWithStatus(status.CANCELLED, 'the caller gave up');
    call.start(attempt.metadata, {
      onReceiveMetadata: ignore,
      onReceiveMessage: (received: Buffer) => {
        message = received;
      },
      onReceiveStatus: (ended) => {
        attempt.signal?.removeEventListener('abort', abort);
        resolve({ status: ended, message });
      },
    });
    attempt.signal?.addEventListener('abort', abort, { once: true });
    call.sendMessageWithContext({}, attempt.body);
    call.halfClose();
    call.startRead();
  });
}

/**
 * A server stream. The next message is read when it is asked for, so a slow consumer slows the producer; leaving the
 * loop cancels the call. Ends with the final status as the generator's return value.
 */
export async function* receive(
  channel: ChannelInterface,
  attempt: Attempt,
): AsyncGenerator<Buffer, StatusObject> {
  let deliver: ((message: Buffer | undefined) => void) | undefined;
  let ended: StatusObject | undefined;
  const call = channel.createCall(attempt.path, attempt.deadline, null, null, null);
  const abort = (): void => call.cancelWithStatus(status.CANCELLED, 'the caller gave up');
  call.start(attempt.metadata, {
    onReceiveMetadata: ignore,
    onReceiveMessage: (received: Buffer) => deliver?.(received),
    onReceiveStatus: (received) => {
      ended = received;
      deliver?.(undefined);
    },
  });
  attempt.signal?.addEventListener('abort', abort, { once: true });
  call.sendMessageWithContext({}, attempt.body);
  call.halfClose();
  try {
    for (;;) {
      const message = await new Promise<Buffer | undefined>((resolve) => {
        deliver = resolve;
        if (ended === undefined) call.startRead();
        else resolve(undefined);
      });
      if (message !== undefined) yield message;
      else if (ended !== undefined) return ended;
    }
  } finally {
    attempt.signal?.removeEventListener('abort', abort);
    if (ended === undefined) call.cancelWithStatus(status.CANCELLED, 'the consumer left');
  }
}

function ignore(): void {
  // Response headers carry nothing of ours.
}
