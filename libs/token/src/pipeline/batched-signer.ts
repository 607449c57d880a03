import { traced } from '@tessera/telemetry';
import type { CallOptions, Client } from '@tessera/rpc';
import { OAuthError, type SigningAlgorithmName } from '@tessera/oauth';
import type { KeysService, TokenType } from '@tessera/proto-gen/keys';

/** One token to sign: its claims, and the token type that decides the header `typ`. */
export interface SigningTask {
  readonly type: TokenType;
  readonly claims: object;
  /** The default if it is absent. */
  readonly algorithm?: SigningAlgorithmName;
  /** Index of an earlier task of the same request: the hash of its token becomes `at_hash` (OIDC Core §3.1.3.6). */
  readonly atHashOf?: number;
}

/** Has tokens signed by `keys`. Requests of the same turn of the event loop share one call. */
export interface Signer {
  /**
   * Resolves with one compact serialization (RFC 7515 §7.1) per task, in order.
   * @param tenantId the tenant whose own keys sign; empty for those of the shared issuer
   */
  sign(tasks: readonly SigningTask[], call: CallOptions, tenantId: string): Promise<string[]>;
}

/** Bounds the size and duration of one call to `keys`: 64 signatures take one core about 20 ms. */
const largestBatch = 64;

/** The tasks of one request. They stay in one call, as one may contain the hash of another. */
interface PendingTasks {
  readonly tenantId: string;
  readonly items: readonly (Omit<SigningTask, 'claims'> & { readonly payload: Uint8Array })[];
  readonly call: CallOptions;
  readonly resolve: (tokens: string[]) => void;
  readonly reject: (reason: unknown) => void;
}

export function createSigner(keys: Client<typeof KeysService>): Signer {
  let waiting: PendingTasks[] = [];

  function flush(): void {
    // A key that cannot sign yet fails its batch, but none that other keys sign.
    const all = Map.groupBy(waiting, ({ tenantId, items }) => `${tenantId} ${algorithmsOf(items)}`);
    waiting = [];
    for (const ofSameKeys of all.values()) signInBatches(ofSameKeys);
  }

  function signInBatches(all: readonly PendingTasks[]): void {
    let batch: PendingTasks[] = [];
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

  async function signTogether(batch: readonly PendingTasks[]): Promise<void> {
    try {
      const items = itemsOf(batch);
      const tenantId = batch[0]?.tenantId ?? '';
      const { tokens } = await keys.sign({ items, tenantId }, optionsFor(batch));
      if (tokens.length !== items.length)
        throw new Error('keys returned another number of tokens than items');
      let start = 0;
      for (const { items: own, resolve } of batch) {
        resolve(tokens.slice(start, start + own.length));
        start += own.length;
      }
    } catch (error) {
      // One item that cannot be signed must not fail the other requests of its batch.
      const separable = batch.length > 1 && !(error instanceof OAuthError);
      for (const item of batch) {
        if (separable) void signTogether([item]);
        else item.reject(error);
      }
    }
  }

  function gather(tasks: readonly SigningTask[], call: CallOptions, tenantId: string): Promise<string[]> {
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush);
      const items = tasks.map(({ claims, ...task }) => ({
        ...task,
        payload: Buffer.from(JSON.stringify(claims)),
      }));
      waiting.push({ tenantId, items, call, resolve, reject });
    });
  }

  return {
    // The shared call is traced under the first request of the batch; this span is how long each request waited.
    sign: (tasks, call, tenantId) =>
      traced({ name: 'sign', kind: 'internal', attributes: { 'tessera.signatures': tasks.length } }, () =>
        gather(tasks, call, tenantId),
      ),
  };
}

/** Those besides the default. */
function algorithmsOf(items: PendingTasks['items']): string {
  return [...new Set(items.map(({ algorithm = '' }) => algorithm))].toSorted().join();
}

/** All items of a batch, with `atHashOf` changed from an index in the request to an index in the batch. */
function itemsOf(batch: readonly PendingTasks[]): PendingTasks['items'][number][] {
  const items: PendingTasks['items'][number][] = [];
  for (const { items: own } of batch) {
    const start = items.length;
    for (const item of own) {
      items.push(item.atHashOf === undefined ? item : { ...item, atHashOf: start + item.atHashOf });
    }
  }
  return items;
}

/** A shared call has the longest timeout of its requests and is not cancelled when one of them is. */
function optionsFor(batch: readonly PendingTasks[]): CallOptions {
  const [first, ...others] = batch;
  if (first === undefined || others.length === 0) return first?.call ?? {};
  const { signal: _, ...options } = batch.reduce((patient, item) =>
    (item.call.timeoutMs ?? Infinity) > (patient.call.timeoutMs ?? Infinity) ? item : patient,
  ).call;
  return options;
}
