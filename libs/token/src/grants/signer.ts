import { traced } from '@tessera/telemetry';
import type { CallOptions, Client } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { KeysService, TokenType } from '@tessera/proto-gen/keys';

/** What one request has signed: claims under the header `typ` of a token type. */
export interface SigningTask {
  readonly type: TokenType;
  readonly claims: object;
  /** Index of an earlier task of the same request, whose token's `at_hash` these claims get (OIDC Core §3.1.3.6). */
  readonly atHashOf?: number;
}

/** Signs claims; gathers what is asked for in the same turn of the event loop into one call of `keys`. */
export interface Signer {
  /** Resolves with one compact serialization (RFC 7515 §7.1) per task, in order. */
  sign(tasks: readonly SigningTask[], call: CallOptions): Promise<string[]>;
}

/** Bounds the message and the time one call of `keys` takes: about 64 signatures on one core in 20 ms. */
const largestBatch = 64;

/** The tasks of one request. They travel together, as one may hold the hash of another. */
interface Pending {
  readonly items: readonly { type: TokenType; payload: Uint8Array; atHashOf?: number }[];
  readonly call: CallOptions;
  readonly resolve: (tokens: string[]) => void;
  readonly reject: (reason: unknown) => void;
}

export function createSigner(keys: Client<typeof KeysService>): Signer {
  let waiting: Pending[] = [];

  function flush(): void {
    const all = waiting;
    waiting = [];
    let batch: Pending[] = [];
    let size = 0;
    for (const pending of all) {
      if (batch.length > 0 && size + pending.items.length > largestBatch) {
        void signTogether(batch);
        batch = [];
        size = 0;
      }
      batch.push(pending);
      size += pending.items.length;
    }
    void signTogether(batch);
  }

  async function signTogether(batch: readonly Pending[]): Promise<void> {
    try {
      const items = itemsOf(batch);
      const { tokens } = await keys.sign({ items }, optionsFor(batch));
      if (tokens.length !== items.length) throw new Error('keys did not answer with one token per item');
      let start = 0;
      for (const { items: own, resolve } of batch) {
        resolve(tokens.slice(start, start + own.length));
        start += own.length;
      }
    } catch (error) {
      // One item that cannot be signed must not fail the requests it happened to travel with.
      const separable = batch.length > 1 && !(error instanceof OAuthError);
      for (const item of batch) {
        if (separable) void signTogether([item]);
        else item.reject(error);
      }
    }
  }

  function gather(tasks: readonly SigningTask[], call: CallOptions): Promise<string[]> {
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush);
      const items = tasks.map(({ claims, ...task }) => ({
        ...task,
        payload: Buffer.from(JSON.stringify(claims)),
      }));
      waiting.push({ items, call, resolve, reject });
    });
  }

  return {
    // The call for all that are signed together is traced under the first; this is how long each waited for it.
    sign: (tasks, call) =>
      traced({ name: 'sign', kind: 'internal', attributes: { 'tessera.signatures': tasks.length } }, () =>
        gather(tasks, call),
      ),
  };
}

/** All items of a batch, with what refers to an item of its own request moved to where that is now. */
function itemsOf(batch: readonly Pending[]): Pending['items'][number][] {
  const items: Pending['items'][number][] = [];
  for (const { items: own } of batch) {
    const start = items.length;
    for (const item of own) {
      items.push(item.atHashOf === undefined ? item : { ...item, atHashOf: start + item.atHashOf });
    }
  }
  return items;
}

/** A gathered call waits for its most patient member and is not cancelled when one of them gives up. */
function optionsFor(batch: readonly Pending[]): CallOptions {
  const [first, ...others] = batch;
  if (first === undefined || others.length === 0) return first?.call ?? {};
  const { signal: _, ...options } = batch.reduce((patient, item) =>
    (item.call.timeoutMs ?? Infinity) > (patient.call.timeoutMs ?? Infinity) ? item : patient,
  ).call;
  return options;
}
