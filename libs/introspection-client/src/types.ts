import type { AccessTokenSource } from './access-token-source.ts';

/** What is known of a token that is good (RFC 7662 §2.2). Times are seconds since the Unix epoch. */
export interface ActiveToken {
  readonly active: true;
  /** A resource server accepts access tokens alone. */
  readonly kind: 'access_token' | 'refresh_token';
  readonly sub: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** The API resource the token is for; empty for a refresh token. */
  readonly aud: string;
  readonly iss: string;
  readonly tenantId: string;
  readonly exp: number;
  readonly iat: number;
  /** Empty for a refresh token. */
  readonly jti: string;
}

export type Introspection = { readonly active: false } | ActiveToken;

/** Something that ended, as the server tells it. Fields that do not apply are empty. */
export interface Revocation {
  readonly kind: RevocationKind;
  readonly tenantId: string;
  readonly sub: string;
  readonly clientId: string;
  readonly sessionId: string;
  readonly familyId: string;
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
}

export type RevocationKind = 'refresh_family' | 'session' | 'subject' | 'application' | 'tenant';

/** How the introspector proves who it is. Certificates are files that are read again when they change. */
export interface IntrospectorCredentials {
  /** Absent: no encryption, for development. */
  readonly tls?: {
    /** PEM of the authorities whose server certificates are accepted; absent: those of the system. */
    readonly caFile?: string;
    /** Own chain and key, where a client certificate says who asks. */
    readonly certificateFile?: string;
    readonly privateKeyFile?: string;
    /** The name in the server's certificate, where the target is an address. */
    readonly serverName?: string;
  };
  /** An access token of ours with the scope `tokens.introspect`, where that says who asks. */
  readonly accessToken?: AccessTokenSource;
  /** The token that all processes of a development set-up share. */
  readonly sharedToken?: string;
}

export interface CacheOptions {
  /** Answers remembered at most; 10 000 by default. */
  readonly max?: number;
  /** Bounds what the server allows; by default nothing does. */
  readonly maxSeconds?: number;
}

export interface WatchOptions {
  /**
   * What becomes of access tokens that were issued before something ended. `ask`: the server decides, which lets them
   * live until they expire; `refuse`: they are inactive from then on.
   */
  readonly onRevocation?: 'ask' | 'refuse';
  /**
   * What counts as an end for `refuse`. By default everything but sessions: an access token does not say of which
   * session it is, so that the end of one concerns every token of the person.
   */
  readonly kinds?: readonly RevocationKind[];
}

/** Local verification of access tokens (RFC 9068 §4) in place of asking. */
export interface LocalOptions {
  readonly issuer: string;
  /** Default: `<issuer>/.well-known/jwks.json`. */
  readonly jwksUri?: string;
  /** How long a local answer is remembered at most, in seconds; 60 by default. */
  readonly cacheSeconds?: number;
}

/** Called as things happen; what they throw is not caught. */
export interface Metrics {
  onAnswer?(answer: { readonly source: 'cache' | 'local' | 'server'; readonly active: boolean }): void;
  /** One call to the server, retries included; `code` is `ok` or that of the error. */
  onCall?(call: { readonly tokens: number; readonly milliseconds: number; readonly code: string }): void;
  /** Whether ends are heard within moments, from now on. */
  onWatch?(watch: { readonly guarded: boolean; readonly reason: string }): void;
  /** A listener of `onRevocation` threw. It hears of what ends next all the same. */
  onListenerError?(trouble: { readonly error: unknown; readonly revocation: Revocation }): void;
}

export interface IntrospectorOptions {
  /**
   * `host:port`, where the name may stand for several replicas, or a gRPC target such as
   * `ipv4:10.0.0.1:9105,10.0.0.2:9105`. Calls go round all of them.
   */
  readonly target: string;
  readonly credentials: IntrospectorCredentials;
  /** How long a caller waits at most, in milliseconds; 2 s by default. With `local` a quarter of it is for the keys. */
  readonly timeoutMs?: number;
  /** `false`: nothing is remembered. */
  readonly cache?: CacheOptions | false;
  /** `false`: what ended is not followed. */
  readonly watch?: WatchOptions | false;
  readonly local?: LocalOptions;
  readonly metrics?: Metrics;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  /** `true`: the server is asked, whatever is remembered. */
  readonly fresh?: boolean;
}

export interface Introspector {
  /** Throws `IntrospectionError` when it cannot be told. */
  introspect(token: string, options?: AskOptions): Promise<Introspection>;
  /** Whether ends are heard within moments; false while the watch is being taken up again, and without one. */
  readonly guarded: boolean;
  /**
   * Hears of everything that ends, in order and without a gap while this process runs; returns what ends that. What the
   * listener throws goes to `metrics.onListenerError`.
   */
  onRevocation(listener: (revocation: Revocation) => void): () => void;
  close(): Promise<void>;
}
