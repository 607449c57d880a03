import type { CallOptions, Client } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import type { KeysService, TokenType } from '@tessera/proto-gen/keys';

/** Signs claims; gathers what is asked for in the same turn of the event loop into one call of `keys`. */
export interface Signer {
  /** Resolves with the compact serialization (RFC 7515 §7.1) under the header `typ` of the token type. */
  sign(type: TokenType, claims: object, call: CallOptions): Promise<string>;
}

/** Bounds the message and the time one call of `keys` takes: about 64 signatures on one core in 20 ms. */
const largestBatch = 64;

interface Pending {
  readonly type: TokenType;
  readonly payload: Uint8Array;
  readonly call: CallOptions;
  readonly resolve: (token: string) => void;
  readonly reject: (reason: unknown) => void;
}

export function createSigner(keys: Client<typeof KeysService>): Signer {
  let waiting: Pending[] = [];

  function flush(): void {
    const all = waiting;
    waiting = [];
    for (let start = 0; start < all.length; start += largestBatch) {
      void signTogether(all.slice(start, start + largestBatch));
    }
  }

  async function signTogether(batch: readonly Pending[]): Promise<void> {
    try {
      const items = batch.map(({ type, payload }) => ({ type, payload }));
      const { tokens } = await keys.sign({ items }, optionsFor(batch));
      if (tokens.length !== batch.length) throw new Error('keys did not answer with one token per item');
      for (const [index, { resolve }] of batch.entries()) resolve(tokens[index] ?? '');
    } catch (error) {
      // One item that cannot be signed must not fail the requests it happened to travel with.
      const separable = batch.length > 1 && !(error instanceof OAuthError);
      for (const item of batch) {
        if (separable) void signTogether([item]);
        else item.reject(error);
      }
    }
  }

  return {
    sign: (type, claims, call) =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ type, payload: Buffer.from(JSON.stringify(claims)), call, resolve, reject });
      }),
  };
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
