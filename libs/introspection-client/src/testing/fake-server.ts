import { EventEmitter, on } from 'node:events';
import { Code, ConnectError, route, serve, type CallContext, type RpcServer } from '@tessera/rpc';
import { Secret } from '@tessera/kit';
import { IntrospectionService, type RevocationKind, TokenKind } from '@tessera/proto-gen/token';
import { silentLog } from '@tessera/test-kit';
import { createIntrospector } from '../introspector.ts';
import type { Introspector, IntrospectorOptions } from '../introspector-types.ts';

export interface FakeToken {
  readonly sub: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly aud: string;
  readonly scope: string;
  readonly role: string[];
  readonly iss: string;
  readonly exp: bigint;
  readonly iat: bigint;
  readonly jti: string;
  readonly authTime: bigint;
  readonly acr: string;
  readonly username: string;
  readonly kind: TokenKind;
  readonly cacheSeconds: number;
}

export const seconds = () => Math.floor(Date.now() / 1000);
export const audience = 'https://orders.example';

export function fakeToken(overrides: Partial<FakeToken> = {}): FakeToken {
  return {
    sub: 'ada',
    clientId: 'web',
    tenantId: 'acme',
    aud: audience,
    scope: 'orders.read orders.write',
    role: ['clerk'],
    iss: 'https://id.example',
    exp: BigInt(seconds() + 600),
    iat: BigInt(seconds() - 10),
    jti: 'j1',
    authTime: 1_700_000_000n,
    acr: '2',
    username: 'ada',
    kind: TokenKind.ACCESS_TOKEN,
    cacheSeconds: 60,
    ...overrides,
  };
}

interface End {
  readonly kind: RevocationKind;
  readonly tenantId: string;
  readonly sub?: string;
  readonly clientId?: string;
  readonly sessionId?: string;
  readonly jti?: string;
  readonly endedAt: bigint;
}

/** An introspection service with behaviour: it knows the tokens that a test gives it, and what the test ends. */
export class FakeServer {
  readonly tokens = new Map<string, FakeToken>();
  /** Number of tokens of each call so far. */
  readonly calls: number[] = [];
  /** Cursor and time of each watch so far. */
  readonly watches: { cursor: string; since: bigint }[] = [];
  /** Thrown by the next calls, one each. */
  readonly failures: ConnectError[] = [];
  /** Tokens whose outcome in a batch is a failure. */
  readonly troubled = new Set<string>();
  /** Positions up to this one are no longer on record. */
  forgotten = 0;
  /** While true, watches are cut and none begins. */
  deaf = false;
  readonly #ends: End[] = [];
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #token = new Secret('a token shared by all who are in this test');
  readonly #introspectors: Introspector[] = [];
  readonly #bearer: ((token: string) => boolean) | undefined;
  #server: RpcServer | undefined;
  #port = 0;

  /** @param bearer judges access tokens of callers; absent: callers have the shared token */
  constructor(bearer?: (token: string) => boolean) {
    this.#bearer = bearer;
  }

  get target(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async start(): Promise<this> {
    const bearer = this.#bearer;
    const introspection = route(
      IntrospectionService,
      {
        introspect: ({ token }) => {
          this.#count(1);
          return this.#answer(token);
        },
        batchIntrospect: ({ tokens }) => {
          this.#count(tokens.length);
          return { outcomes: tokens.map((token) => this.#outcome(token)) };
        },
        watchRevocations: (request, context) => this.#watch(request, context),
      },
      bearer === undefined
        ? {}
        : {
            bearer: async (token) => {
              if (!bearer(token)) throw new ConnectError('not valid', Code.Unauthenticated);
              return {
                caller: 'introspector',
                principal: { kind: 'client', id: 'orders-api' },
                scopes: ['tokens.introspect'],
              };
            },
          },
    );
    this.#server = await serve(
      { name: 'token', routes: [introspection], ready: async () => {}, close: async () => {} },
      {
        host: '127.0.0.1',
        port: this.#port,
        credentials: { kind: 'token', token: this.#token },
        log: silentLog(),
        drainMs: 100,
      },
    );
    this.#port = this.#server.port;
    return this;
  }

  async stop(): Promise<void> {
    await this.#server?.drain();
    this.#server = undefined;
  }

  introspector(options: Partial<IntrospectorOptions> = {}): Introspector {
    const introspector = createIntrospector({
      target: this.target,
      credentials: { sharedToken: this.#token.reveal() },
      ...options,
    });
    this.#introspectors.push(introspector);
    return introspector;
  }

  async close(): Promise<void> {
    await Promise.all(this.#introspectors.map((introspector) => introspector.close()));
    await this.stop();
  }

  end(end: Omit<End, 'endedAt' | 'tenantId'> & { tenantId?: string; endedAt?: bigint }): void {
    this.#ends.push({ tenantId: 'acme', endedAt: BigInt(seconds()), ...end });
    this.#events.emit('event');
  }

  cutWatches(): void {
    this.deaf = true;
    this.#events.emit('event');
  }

  #count(tokens: number): void {
    this.calls.push(tokens);
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
  }

  #answer(token: string) {
    const known = this.tokens.get(token);
    return known === undefined ? { active: false } : { active: true, ...known };
  }

  #outcome(token: string) {
    if (!this.troubled.has(token)) {
      return { outcome: { case: 'result', value: this.#answer(token) } } as const;
    }
    const value = { code: 'temporarily_unavailable', message: 'Not now.', retryAfterSeconds: 7 };
    return { outcome: { case: 'failure', value } } as const;
  }

  async *#watch({ cursor, since }: { cursor: string; since: bigint }, { signal }: CallContext) {
    this.watches.push({ cursor, since });
    if (this.deaf) throw new ConnectError('not now', Code.Unavailable);
    const start = cursor === '' ? (since > 0n ? this.forgotten : this.#ends.length) : Number(cursor);
    if (start < this.forgotten) throw new ConnectError('too old', Code.OutOfRange);
    const beat = setInterval(() => this.#events.emit('event'), 500);
    try {
      const events = on(this.#events, 'event', { signal });
      let position = start;
      yield { cursor: String(position) };
      for (;;) {
        for (; position < this.#ends.length; position += 1) {
          const end = this.#ends[position];
          if (end !== undefined) yield { cursor: String(position + 1), ...end };
        }
        await events.next();
        if (this.deaf) throw new ConnectError('cut', Code.Unavailable);
        yield { cursor: String(position) };
      }
    } finally {
      clearInterval(beat);
    }
  }
}

export async function until(what: () => boolean, ms = 5_000): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < ms) {
    if (what()) return performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`not within ${ms} ms`);
}
