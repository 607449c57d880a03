import { IntrospectionService, type IntrospectOutcome } from '@tessera/proto-gen/token';
import { answerOf, type Answer } from './introspection-answer.ts';
import { IntrospectionError } from '../introspection-error.ts';
import type { IntrospectionServer } from './introspection-server.ts';

const { introspect, batchIntrospect } = IntrospectionService.method;

/** Limit per call: that of the server, well under the message size limit. */
const largestBatch = 1_000;
const largestBytes = 2 * 1024 * 1024;

interface Pending {
  readonly token: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Batches the requests of one event loop turn into one call; concurrent requests for a token share a result. */
export class Batcher {
  readonly #server: IntrospectionServer;
  readonly #asked = new Map<string, Promise<Answer>>();
  #waiting: Pending[] = [];

  constructor(server: IntrospectionServer) {
    this.#server = server;
  }

  /** @param key of the token, which is the same for the same token */
  ask(key: string, token: string): Promise<Answer> {
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    if (this.#waiting.length === 0) setImmediate(() => this.#flush());
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ token, resolve, reject });
    });
    this.#asked.set(key, answer);
    const forget = () => void this.#asked.delete(key);
    answer.then(forget, forget);
    return answer;
  }

  #flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    let batch: Pending[] = [];
    let bytes = 0;
    for (const pending of all) {
      if (batch.length === largestBatch || bytes + pending.token.length > largestBytes) {
        void this.#send(batch);
        batch = [];
        bytes = 0;
      }
      batch.push(pending);
      bytes += pending.token.length;
    }
    void this.#send(batch);
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    const [first, ...others] = batch;
    if (first === undefined) return;
    try {
      if (others.length === 0) {
        first.resolve(answerOf(await this.#server.call(introspect, { token: first.token }, 1)));
        return;
      }
      const tokens = batch.map(({ token }) => token);
      const { outcomes } = await this.#server.call(batchIntrospect, { tokens }, tokens.length);
      for (const [index, pending] of batch.entries()) settle(pending, outcomes[index]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

function settle({ resolve, reject }: Pending, outcome: IntrospectOutcome | undefined): void {
  const answer = outcome?.outcome;
  if (answer?.case === 'result') return resolve(answerOf(answer.value));
  if (answer?.case !== 'failure') {
    return reject(new IntrospectionError('internal', 'the server left out the outcome of a token'));
  }
  const { code, message, retryAfterSeconds } = answer.value;
  const ours = code === 'temporarily_unavailable' ? 'unavailable' : 'internal';
  reject(new IntrospectionError(ours, `introspection: ${message}`, { retryAfterSeconds }));
}
