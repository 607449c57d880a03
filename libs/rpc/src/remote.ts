import { create } from '@bufbuild/protobuf';
import type { DescMessage, DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import type { CallOptions, Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import { temporarilyUnavailable } from '@tessera/oauth';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { deadlineOf, requestIdKey, requestIdOf } from './call-options.ts';
import type { CallerName } from './call.ts';
import { openChannel } from './channel.ts';
import type { OpenChannel } from './channel.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import type { RpcCredentials } from './credentials.ts';
import type { Attempt, Ending, Outcome } from './exchange.ts';
import { tooLong } from './frames.ts';
import { Replica } from './replica.ts';
import { RetryBudget } from './retry-budget.ts';
import { cancelled } from './served-call.ts';
import { typedClient } from './typed-client.ts';
import type { Initializer, StreamingCall, UnaryCall } from './typed-client.ts';
import { fromStatus, isDeliberate, ok } from './wire-errors.ts';
import type { WireStatus } from './wire-errors.ts';
import { traceCalling, traceHeaders } from './call-traces.ts';

export interface PeerOptions {
  /** `host:port`, where the host may stand for several replicas; or several of them, as `parseTarget` reads them. */
  readonly target: string;
  /** The service on whose behalf calls are made; under `mtls` the certificate says it. */
  readonly as: CallerName;
  readonly credentials: RpcCredentials;
  /** Under `mtls`: whose certificate is accepted. Without it, one that is valid for the host of the target. */
  readonly peer?: CallerName;
  /** Time-out of unary calls that are given none, in milliseconds; 2 s by default. */
  readonly defaultTimeoutMs?: number;
  /** Largest message taken or sent, in bytes; 4 MiB by default. */
  readonly maxMessageBytes?: number;
  readonly log?: Logger;
}

/** One peer and all its replicas. Clients made from it share its connections. */
export interface Peer {
  /**
   * A typed client. Unary calls always have a deadline; streams have one only if it is given. Of the call options
   * `timeoutMs`, `signal` and the request id travel; response headers are not offered.
   */
  client<S extends DescService>(service: S): Client<S>;
  close(): Promise<void>;
}

const maxAttempts = 3;
/** How often a call goes to another replica because one did not take it. */
const maxRefusals = 5;
const firstBackoffMs = 25;

/** Connects lazily; a peer that is away fails calls with `temporarily_unavailable` until it is back. */
export function connectPeer(options: PeerOptions): Peer {
  const {
    target,
    as,
    credentials,
    peer,
    defaultTimeoutMs = 2_000,
    maxMessageBytes = 4 * 1024 * 1024,
  } = options;
  const log = options.log ?? pino({ name: as });
  const line: Line = {
    open: openChannel({ target, as, credentials, peer, log }),
    budget: new RetryBudget(),
    defaultTimeoutMs,
    maxMessageBytes,
    closed: false,
  };
  return {
    client: (service) =>
      typedClient(service, {
        unary: (method) => traceCalling(method, remoteUnary(line, method)),
        stream: (method) => remoteStream(line, method),
      }),
    close: async () => {
      line.closed = true;
      line.open.close();
    },
  };
}

interface Line {
  readonly open: OpenChannel;
  readonly budget: RetryBudget;
  readonly defaultTimeoutMs: number;
  readonly maxMessageBytes: number;
  closed: boolean;
}

function remoteUnary(line: Line, method: DescMethod): UnaryCall {
  const path = `/${method.parent.typeName}/${method.name}`;
  const isRead = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return async (init, options) => {
    const deadline = deadlineOf(options, line.defaultTimeoutMs);
    const attempt = prepare(line, path, deadline, encode(method.input, init), options);
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await send(line, attempt);
      if (outcome.status.code === ok) {
        line.budget.succeeded();
        return decode(method.output, outcome.message, path);
      }
      const again = isTransient(outcome.status) && line.budget.failed() && isRead && attempts < maxAttempts;
      if (!again || !(await pause(attempts, attempt))) throw failure(outcome.status, path, options);
    }
  };
}

function remoteStream(line: Line, method: DescMethod): StreamingCall {
  const path = `/${method.parent.typeName}/${method.name}`;
  return async function* stream(init, options): AsyncGenerator<Message, void> {
    const attempt = prepare(line, path, deadlineOf(options), encode(method.input, init), options);
    for (let refusals = 0; ; refusals += 1) {
      const replica = await nextReplica(line, attempt);
      if (!(replica instanceof Replica)) throw failure(replica, path, options);
      const { status, untouched } = yield* decodedEach(method.output, replica.receive(attempt), path);
      if (status.code === ok) return;
      if (!untouched || refusals === maxRefusals) throw failure(status, path, options);
    }
  };
}

async function* decodedEach(
  schema: DescMessage,
  messages: AsyncGenerator<Buffer, Ending>,
  path: string,
): AsyncGenerator<Message, Ending> {
  try {
    for (;;) {
      const next = await messages.next();
      if (next.done === true) return next.value;
      yield decode(schema, next.value, path);
    }
  } finally {
    await messages.return({ status: { code: ok, details: '' }, untouched: false });
  }
}

function prepare(
  line: Line,
  path: string,
  deadline: number,
  body: Buffer,
  options: CallOptions | undefined,
): Attempt {
  if (options?.signal?.aborted === true) throw cancelled();
  if (line.closed) throw temporarilyUnavailable(new Error(`${path}: the peer was closed`));
  const { maxMessageBytes } = line;
  if (body.length > maxMessageBytes)
    throw fromStatus(tooLong('Sent', body.length, maxMessageBytes), path.slice(1));
  const headers = [...line.open.headers, ...traceHeaders()];
  const requestId = requestIdOf(options);
  if (requestId !== undefined) headers.push(requestIdKey, requestId);
  return { path, body, headers, deadline, signal: options?.signal, maxMessageBytes };
}

/** One attempt, at another replica where one said that it did not take it (gRFC A6, transparent retries). */
async function send(line: Line, attempt: Attempt): Promise<Outcome> {
  for (let refusals = 0; ; refusals += 1) {
    const replica = await nextReplica(line, attempt);
    if (!(replica instanceof Replica)) return { status: replica, message: undefined, untouched: true };
    const outcome = await replica.exchange(attempt);
    if (!outcome.untouched || refusals === maxRefusals) return outcome;
  }
}

function nextReplica({ open }: Line, { deadline, signal }: Attempt): Replica | Promise<Replica | WireStatus> {
  return open.replicas.next() ?? open.replicas.awaited(deadline, signal);
}

/** The peer was not reached or went away: nothing a handler decided. */
function isTransient(received: WireStatus): boolean {
  return received.code === Code.Unavailable && !isDeliberate(received);
}

/** Waits before the next attempt; false when there is no time for one. */
async function pause(attempts: number, attempt: Attempt): Promise<boolean> {
  // Spread, so that callers that failed together do not come back together.
  const backoffMs = firstBackoffMs * 2 ** (attempts - 1) * (0.8 + 0.4 * Math.random());
  if (Date.now() + backoffMs >= attempt.deadline) return false;
  await sleep(backoffMs);
  return attempt.signal?.aborted !== true;
}

function failure(received: WireStatus, path: string, options: CallOptions | undefined): Error {
  if (received.code === Code.Canceled) {
    if (options?.signal?.aborted === true) return cancelled();
    // The other side went away, not the caller.
    return temporarilyUnavailable(new Error(`${path}: ${received.details}`));
  }
  return fromStatus(received, path.slice(1));
}

function encode(schema: DescMessage, init: Initializer): Buffer {
  return encodeMessage(schema, create(schema, init));
}

function decode(schema: DescMessage, bytes: Buffer | undefined, path: string): Message {
  try {
    if (bytes === undefined) throw new Error('no message');
    return decodeMessage(schema, bytes);
  } catch (error) {
    throw new ConnectError(
      `${path}: the response message is malformed`,
      Code.Internal,
      undefined,
      undefined,
      error,
    );
  }
}
