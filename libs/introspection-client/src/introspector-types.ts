import type { AccessTokenSource } from './access-token-source.ts';

/** Claims of an active token (RFC 7662 §2.2). Times are seconds since the Unix epoch. */
export interface ActiveToken {
  readonly active: true;
  /** A resource server accepts access tokens only. */
  readonly kind: 'access_token' | 'refresh_token';
  readonly sub: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** The API resource the token is for, the first one if there are several; empty for a refresh token. */
  readonly aud: string;
  /** All API resources the token is for; none for a refresh token. */
  readonly audiences: readonly string[];
  readonly iss: string;
  readonly tenantId: string;
  readonly exp: number;
  readonly iat: number;
  /** Empty for a refresh token. */
  readonly jti: string;
  /**
   * When the person signed in, and in which class (RFC 9470 §6.2); 0 and empty without a person, or where it is not
   * known.
   */
  readonly authTime: number;
  readonly acr: string;
  /**
   * The person's user name (RFC 7662 §2.2); empty without a person, after `local` verification, and where the server
   * does not know it.
   */
  readonly username: string;
}

export type Introspection = { readonly active: false } | ActiveToken;

/** A revocation from the server. Fields that do not apply are empty. */
export interface Revocation {
  readonly kind: RevocationKind;
  readonly tenantId: string;
  readonly sub: string;
  readonly clientId: string;
  readonly sessionId: string;
  readonly familyId: string;
  /** Of a revoked access token. */
  readonly jti: string;
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
}

export type RevocationKind =
  'refresh_family' | 'session' | 'subject' | 'application' | 'tenant' | 'access_token';

/** How the introspector authenticates. Certificate files are reloaded when they change. */
export interface IntrospectorCredentials {
  /** Absent: no encryption, for development. */
  readonly tls?: {
    /** PEM of the trusted certificate authorities; default: those of the system. */
    readonly caFile?: string;
    /** Own chain and key, for authentication by client certificate. */
    readonly certificateFile?: string;
    readonly privateKeyFile?: string;
    /** The name in the server certificate, if the target is an address. */
    readonly serverName?: string;
  };
  /** Source of access tokens with the scope `tokens.introspect`, for authentication by token. */
  readonly accessToken?: AccessTokenSource;
  /** The token that all processes of a development set-up share. */
  readonly sharedToken?: string;
}

export interface CacheOptions {
  /** Maximum number of cached results; 10 000 by default. */
  readonly max?: number;
  /** Upper bound on the cache time that the server allows; none by default. */
  readonly maxSeconds?: number;
}

export interface WatchOptions {
  /**
   * How to treat access tokens issued before a revocation. `ask`: the server decides, which accepts them until they
   * expire; `refuse`: they are inactive from then on. An access token that is itself revoked is always inactive.
   */
  readonly onRevocation?: 'ask' | 'refuse';
  /**
   * Which revocations apply to `refuse`. By default all but sessions: an access token does not name its session, so the
   * end of one affects every token of the person.
   */
  readonly kinds?: readonly RevocationKind[];
}

/** Local verification of access tokens (RFC 9068 §4) instead of calling the server. */
export interface LocalOptions {
  /** The issuer, or all issuers whose tokens are accepted; those of any other are inactive. */
  readonly issuer: string | readonly string[];
  /** Of a single issuer. Default: `<issuer>/.well-known/jwks.json`. */
  readonly jwksUri?: string;
  /** Maximum cache time of a local result, in seconds; 60 by default. */
  readonly cacheSeconds?: number;
}

/** Callbacks for metrics; their exceptions are not caught. */
export interface Metrics {
  onAnswer?(answer: { readonly source: 'cache' | 'local' | 'server'; readonly active: boolean }): void;
  /** One call to the server, retries included; `code` is `ok` or that of the error. */
  onCall?(call: { readonly tokens: number; readonly milliseconds: number; readonly code: string }): void;
  /** Whether the watch is connected, from now on. */
  onWatch?(watch: { readonly guarded: boolean; readonly reason: string }): void;
  /** A listener of `onRevocation` threw. It still receives later revocations. */
  onListenerError?(trouble: { readonly error: unknown; readonly revocation: Revocation }): void;
}

export interface IntrospectorOptions {
  /**
   * `host:port`, where the name may stand for several replicas, or a gRPC target such as
   * `ipv4:10.0.0.1:9105,10.0.0.2:9105`. Calls go round all of them.
   */
  readonly target: string;
  readonly credentials: IntrospectorCredentials;
  /** Longest wait of a caller, in milliseconds; 2 s by default. With `local`, a quarter of it is for the keys. */
  readonly timeoutMs?: number;
  /** `false`: no cache. */
  readonly cache?: CacheOptions | false;
  /** `false`: no watch for revocations. */
  readonly watch?: WatchOptions | false;
  readonly local?: LocalOptions;
  readonly metrics?: Metrics;
}

export interface AskOptions {
  /** Aborted, the question is thrown away and its reason is thrown. */
  readonly signal?: AbortSignal;
  /** `true`: bypasses the cache. */
  readonly fresh?: boolean;
}

export interface Introspector {
  /** Throws `IntrospectionError` if the server is unavailable or refuses the caller. */
  introspect(token: string, options?: AskOptions): Promise<Introspection>;
  /** Whether the watch is connected; false while it reconnects, and without a watch. */
  readonly guarded: boolean;
  /**
   * Calls the listener for every revocation, in order and without a gap while this process runs; returns a function
   * that unsubscribes. Exceptions of the listener go to `metrics.onListenerError`.
   */
  onRevocation(listener: (revocation: Revocation) => void): () => void;
  close(): Promise<void>;
}
