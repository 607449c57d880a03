import { randomBytes } from 'node:crypto';
import { type Answer, claimsOf, headerOf } from '@tessera/test-client';
import { nameOf, type Delivered, type Fault, type History, type Operation, type Outcome } from './history.ts';
import { SeenKeys } from './keys.ts';

/** Properties of an operation before it is sent. */
export type Facts = Omit<
  Operation,
  'id' | 'startedAt' | 'endedAt' | 'outcome' | 'delivered' | 'attempt' | 'said' | 'published'
>;

/** Properties of a response. */
export interface Reading {
  readonly outcome: Outcome;
  readonly delivered?: readonly Delivered[];
  readonly said?: Operation['said'];
  readonly published?: readonly string[];
}

/** Records every request and response, in the order of the responses. */
export class Recorder implements History {
  readonly operations: Operation[] = [];
  readonly faults: Fault[] = [];
  readonly keys = new SeenKeys();
  #count = 0;
  readonly #run = randomBytes(4).toString('hex');

  newId(): string {
    return `${this.#run}-${(this.#count += 1)}`;
  }

  /** Runs and records one request. An exception counts as a lost response. */
  async record<A>(
    facts: Facts,
    attempt: number,
    send: (id: string) => Promise<A>,
    read: (answer: A) => Reading,
  ): Promise<{ operation: Operation; answer: A | undefined }> {
    const id = this.newId();
    const startedAt = performance.now();
    let answer: A | undefined;
    let reading: Reading;
    try {
      answer = await send(id);
      reading = read(answer);
    } catch (error) {
      reading = { outcome: lost(error) };
    }
    const operation: Operation = {
      delivered: [],
      ...facts,
      ...reading,
      id,
      attempt,
      startedAt,
      endedAt: performance.now(),
    };
    this.operations.push(operation);
    return { operation, answer };
  }

  /** Records a fault that lasts until the returned function is called. */
  fault(type: Fault['type'], what: string): () => void {
    const fault: Fault = { type, what, from: performance.now(), until: Infinity };
    this.faults.push(fault);
    return () => {
      fault.until = performance.now();
    };
  }

  /** The claims of an access or ID token, and whether a published key verifies it. */
  delivered(type: 'access' | 'id', token: string): Delivered {
    const claims = claimsOf(token);
    const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
    return {
      type,
      hash: nameOf(token),
      ...(type === 'access'
        ? { jti: text(claims['jti']), tenant: text(claims['tenant_id']), clientId: text(claims['client_id']) }
        : { clientId: text(claims['aud']) }),
      subject: text(claims['sub']),
      kid: text(headerOf(token)['kid']),
      verified: this.keys.verifies(token),
    } as Delivered;
  }
}

function lost(error: unknown): Outcome {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no_answer';
  return { result: 'lost', status: 0, error: code };
}

/** The outcome that a response means to a client. */
export function outcomeOf(answer: Answer): Outcome {
  const { status } = answer;
  const json = (answer.header('content-type') ?? '').includes('json') ? answer.json() : {};
  const error = typeof json['error'] === 'string' ? json['error'] : undefined;
  const with_ = (result: Outcome['result']): Outcome => ({
    result,
    status,
    ...(error === undefined ? {} : { error }),
  });
  if (status === 503 || status === 429) return with_('unavailable');
  if (error === 'authorization_pending' || error === 'slow_down') return with_('waiting');
  if (status >= 200 && status < 300) return with_('good');
  if (status >= 300 && status < 400) return with_('sent-away');
  return with_(status < 500 ? 'refused' : 'failed');
}
