import { hash } from 'node:crypto';
import { inactive, type Answer } from './server/introspection-answer.ts';
import { Batcher } from './server/batcher.ts';
import { boundedCache, type BoundedCache } from './answer-cache.ts';
import { Ended } from './revocations/ended.ts';
import { IntrospectionError } from './introspection-error.ts';
import { LocalVerifier } from './local/local-verifier.ts';
import { openIntrospectionServer, type IntrospectionServer } from './server/introspection-server.ts';
import type {
  ActiveToken,
  AskOptions,
  Introspection,
  Introspector,
  IntrospectorOptions,
  Metrics,
  Revocation,
  RevocationKind,
} from './introspector-types.ts';
import { Watch } from './revocations/watch.ts';

const defaultTimeoutMs = 2_000;
/** Share of the deadline of a caller for fetching keys; the server gets the rest. */
const shareOfKeys = 0.25;
const defaultCapacity = 10_000;
/** The server treats longer tokens as inactive; they must not fill a message either. */
const longestToken = 60 * 1024;
const everyKindButSessions: readonly RevocationKind[] = [
  'refresh_family',
  'subject',
  'application',
  'tenant',
];
const secondsOfADay = 86_400;

/** One per process is enough: it holds the connections, the cache and the watch. */
export function createIntrospector(options: IntrospectorOptions): Introspector {
  return new CachingIntrospector(options);
}

interface Remembered {
  readonly token: ActiveToken;
  /** When it was requested, in milliseconds of `performance.now()`. */
  readonly askedAt: number;
}

class CachingIntrospector implements Introspector {
  readonly #server: IntrospectionServer;
  readonly #batcher: Batcher;
  readonly #cache: BoundedCache<Remembered> | undefined;
  readonly #maxSeconds: number;
  readonly #local: LocalVerifier | undefined;
  readonly #watch: Watch | undefined;
  readonly #ended: Ended;
  readonly #refuses: boolean;
  readonly #metrics: Metrics;
  readonly #listeners = new Set<(revocation: Revocation) => void>();
  #closed = false;

  constructor({ target, credentials, cache = {}, watch = {}, local, ...rest }: IntrospectorOptions) {
    this.#metrics = rest.metrics ?? {};
    const { timeoutMs = defaultTimeoutMs } = rest;
    const patienceMs = local === undefined ? 0 : timeoutMs * shareOfKeys;
    this.#server = openIntrospectionServer(target, credentials, timeoutMs - patienceMs, this.#metrics);
    this.#batcher = new Batcher(this.#server);
    this.#cache = cache === false ? undefined : boundedCache(cache.max ?? defaultCapacity);
    this.#maxSeconds = cache === false ? 0 : (cache.maxSeconds ?? Infinity);
    this.#local = local === undefined ? undefined : new LocalVerifier(local, patienceMs);
    this.#refuses = watch !== false && watch.onRevocation === 'refuse';
    this.#ended = new Ended((watch !== false && watch.kinds) || everyKindButSessions);
    this.#watch = watch === false ? undefined : this.#follow();
  }

  get guarded(): boolean {
    return this.#watch?.guarded ?? false;
  }

  async introspect(token: string, options: AskOptions = {}): Promise<Introspection> {
    if (this.#closed) throw new IntrospectionError('closed', 'the introspector was closed');
    if (token === '' || token.length > longestToken) return inactive.introspection;
    options.signal?.throwIfAborted();
    const key = hash('sha256', token, 'base64');
    const remembered = options.fresh === true ? undefined : this.#recall(key);
    if (remembered !== undefined) return this.#answer(remembered, 'cache');
    const askedAt = performance.now();
    if (this.#local !== undefined && options.fresh !== true) {
      const local = await unlessAborted(this.#local.judge(token), options.signal);
      if (local !== 'ask') return this.#settle(key, local, askedAt, 'local');
    }
    const answer = await unlessAborted(this.#batcher.ask(key, token), options.signal);
    return this.#settle(key, answer, askedAt, 'server');
  }

  onRevocation(listener: (revocation: Revocation) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#watch?.close();
    this.#server.close();
    this.#cache?.clear();
  }

  #recall(key: string): ActiveToken | undefined {
    const remembered = this.#cache?.get(key);
    if (remembered === undefined) return undefined;
    const { token, askedAt } = remembered;
    const stale = token.exp * 1000 <= Date.now() || this.#ended.since(token, askedAt);
    if (!stale) return token;
    this.#cache?.delete(key);
    return undefined;
  }

  #settle(key: string, answer: Answer, askedAt: number, source: 'local' | 'server'): Introspection {
    const { introspection: token } = answer;
    if (!token.active) return this.#answer(token, source);
    const ttl = Math.min(answer.cacheSeconds, this.#maxSeconds) * 1000;
    if (ttl > 0) this.#cache?.set(key, { token, askedAt }, { ttl });
    return this.#answer(token, source);
  }

  #answer(token: Introspection, source: 'cache' | 'local' | 'server'): Introspection {
    const refused =
      token.active && (this.#ended.names(token) || (this.#refuses && this.#ended.concerns(token)));
    const introspection = refused ? inactive.introspection : token;
    this.#metrics.onAnswer?.({ source, active: introspection.active });
    return introspection;
  }

  #follow(): Watch {
    return new Watch(this.#server, {
      metrics: this.#metrics,
      // Without the server's answers, tokens that were revoked before the start must be known too.
      lookBackSeconds: this.#refuses || this.#local !== undefined ? secondsOfADay : 0,
      onRevocation: (revocation) => {
        this.#ended.add(revocation);
        for (const listener of this.#listeners) this.#tell(listener, revocation);
      },
      // Keep known revocations: they can only refuse tokens, and the restart does not return all of them again.
      onGap: () => this.#cache?.clear(),
    });
  }

  /** An error in a listener must not stop the watch, which would then repeat the same revocation forever. */
  #tell(listener: (revocation: Revocation) => void, revocation: Revocation): void {
    try {
      listener(revocation);
    } catch (error) {
      this.#metrics.onListenerError?.({ error, revocation });
    }
  }
}

/** The shared result, or the reason of the signal as soon as it is aborted. */
async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answer;
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
