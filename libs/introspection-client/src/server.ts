import {
  create,
  fromBinary,
  toBinary,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { status, type Client, type ClientReadableStream, type ServiceError } from '@grpc/grpc-js';
import { setTimeout as pause } from 'node:timers/promises';
import { openClient, proofOf } from './channel.ts';
import { fromServiceError, IntrospectionError } from './errors.ts';
import { RetryBudget } from './retry-budget.ts';
import type { Credentials, Metrics } from './types.ts';

const maxAttempts = 4;
const firstBackoffMs = 40;
/** An attempt gets half of the time, so that a replica that swallows calls leaves time for another. */
const shareOfAttempt = 0.5;

/** Calls to the introspection service, whatever replica answers them. */
export class Server {
  readonly #client: Client;
  readonly #credentials: Credentials;
  readonly #timeoutMs: number;
  readonly #metrics: Metrics;
  readonly #budget = new RetryBudget();

  constructor(target: string, credentials: Credentials, timeoutMs: number, metrics: Metrics) {
    this.#client = openClient(target, credentials);
    this.#credentials = credentials;
    this.#timeoutMs = timeoutMs;
    this.#metrics = metrics;
  }

  /** One unary call, tried again where another replica may do better. `tokens` is for the metrics. */
  async call<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M['input']>,
    tokens: number,
  ): Promise<MessageShape<M['output']>> {
    const started = performance.now();
    const bytes = Buffer.from(toBinary(method.input, create(method.input, request)));
    const path = pathOf(method);
    let refused = false;
    for (let attempts = 1; ; attempts += 1) {
      const remaining = this.#timeoutMs - (performance.now() - started);
      const outcome = await this.#attempt(path, bytes, remaining, attempts, refused);
      const done = (code: string) =>
        this.#metrics.onCall?.({ tokens, attempts, milliseconds: performance.now() - started, code });
      if (Buffer.isBuffer(outcome)) {
        this.#budget.succeeded();
        done('ok');
        return fromBinary(method.output, new Uint8Array(outcome)) as MessageShape<M['output']>;
      }
      const left = this.#timeoutMs - (performance.now() - started);
      const again = this.#mayRepeat(outcome, attempts, refused);
      if (!again || !(await backOff(attempts, left))) {
        const error = fromServiceError(outcome);
        done(error.code);
        throw error;
      }
      refused = outcome.code === status.UNAUTHENTICATED;
    }
  }

  /** A server stream, opened once. Ends with the signal or with an error. */
  async *stream<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M['input']>,
    refused: boolean,
    signal: AbortSignal,
  ): AsyncGenerator<MessageShape<M['output']>, void> {
    const proof = await proofOf(this.#credentials, refused);
    const call: ClientReadableStream<Buffer> = this.#client.makeServerStreamRequest<Buffer, Buffer>(
      pathOf(method),
      same,
      same,
      Buffer.from(toBinary(method.input, create(method.input, request))),
      proof,
    );
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      for await (const bytes of call) {
        yield fromBinary(method.output, new Uint8Array(bytes as Buffer)) as MessageShape<M['output']>;
      }
    } finally {
      signal.removeEventListener('abort', cancel);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }

  async #attempt(
    path: string,
    bytes: Buffer,
    remaining: number,
    attempts: number,
    refused: boolean,
  ): Promise<Buffer | ServiceError> {
    const proof = await proofOf(this.#credentials, refused);
    const share = attempts < maxAttempts ? Math.max(remaining * shareOfAttempt, 100) : remaining;
    const deadline = Date.now() + Math.min(share, remaining);
    return new Promise((resolve, reject) => {
      try {
        this.#client.makeUnaryRequest(path, same, same, bytes, proof, { deadline }, (error, answer) => {
          resolve(error ?? answer ?? Buffer.alloc(0));
        });
      } catch (cause) {
        reject(new IntrospectionError('closed', 'the introspector was closed', { cause }));
      }
    });
  }

  #mayRepeat({ code }: ServiceError, attempts: number, refused: boolean): boolean {
    if (attempts >= maxAttempts) return false;
    if (code === status.UNAUTHENTICATED) return this.#credentials.accessToken !== undefined && !refused;
    return transient.has(code) && this.#budget.failed();
  }
}

/** The call may not have reached a replica, or its connection went away. Introspection changes nothing, so it may be repeated. */
const transient: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
]);

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Spread, so that callers that failed together do not come back together. False when there is no time for it. */
async function backOff(attempts: number, leftMs: number): Promise<boolean> {
  const milliseconds = firstBackoffMs * 2 ** (attempts - 1) * (0.5 + Math.random() / 2);
  if (milliseconds >= leftMs) return false;
  await pause(milliseconds);
  return true;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
