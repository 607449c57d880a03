import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { CallOptions, Client } from '@connectrpc/connect';

/** The processes that may call one another. `operator` is the command line. */
export const callerNames = [
  'gateway',
  'authorize',
  'token',
  'device',
  'keys',
  'directory',
  'admin',
  'operator',
  'introspector',
] as const;

export type CallerName = (typeof callerNames)[number];

/** Who exactly stands behind a caller that is not one of our processes. */
export interface Principal {
  /**
   * `certificate`: `id` is the name in the certificate. `client`, `user`: it is the client or person of the access
   * token presented.
   */
  readonly kind: 'certificate' | 'client' | 'user';
  readonly id: string;
  /** When the proof expires, seconds since the Unix epoch; absent where the connection is the proof. */
  readonly expiresAt?: number;
  /** The tenant that an access token may name where a method declares that its requests name one; absent: none. */
  readonly tenantId?: string;
  /** It may name any. */
  readonly everyTenant?: boolean;
  /** What the access token grants. */
  readonly scopes?: readonly string[];
  /** Whose records it may write: owners, and beginnings of owners that end in `*`; absent: nobody's. */
  readonly owners?: readonly string[];
}

/** Whom the caller `admin` makes a call for, for the audit trail. */
export interface Actor {
  /** `operator`: a caller of `admin` that presented no access token. */
  readonly type: 'user' | 'client' | 'operator';
  /** Of the person or client; empty for an operator. */
  readonly tenantId: string;
  readonly id: string;
}

/** What an access token that was presented with a call proves. */
export interface BearerIdentity {
  readonly caller: CallerName;
  readonly principal: Principal;
  /** Those of the token that were looked at: they open the methods that are declared for them. */
  readonly scopes: readonly string[];
  /** A sentence for who lacks all of these scopes, on how to come by one. */
  readonly remedy?: (scopes: readonly string[]) => string;
}

/**
 * Judges an access token presented with a call. Throws an OAuthError if the token is not accepted, or
 * `temporarily_unavailable`.
 */
export type AuthenticateBearer = (accessToken: string, call: CallOptions) => Promise<BearerIdentity>;

/** What a handler knows about the call it serves. */
export interface CallContext {
  /** Follows one request of the outside through every service. */
  readonly requestId: string;
  /** Who calls: by certificate, by shared token, or by composition in compact. */
  readonly caller: CallerName;
  /** Absent where the caller is one of our processes. */
  readonly principal?: Principal | undefined;
  /** Whom the caller acts for; absent unless it is `admin`. It does not travel onward. */
  readonly actor?: Actor | undefined;
  /** When the caller stops waiting, in milliseconds since the Unix epoch; Infinity without a deadline. */
  readonly deadline: number;
  /** Aborted when the caller gave up. */
  readonly signal: AbortSignal;
  /** Options for a call made on behalf of this one: same request id, same signal, the remaining time less one hop. */
  onward(): CallOptions;
}

/** Handlers of a service: messages in, messages out. Only unary and server-streaming methods exist here. */
export type Handlers<S extends DescService> = {
  readonly [M in keyof S['method']]: S['method'][M] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, context: CallContext) => Promise<MessageInitShape<O>> | MessageInitShape<O>
    : S['method'][M] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, context: CallContext) => AsyncIterable<MessageInitShape<O>>
      : never;
};

/** One service of the wire with its handlers. Who may call them is declared in its proto. */
export interface Route {
  readonly service: DescService;
  readonly handlers: Readonly<Record<string, unknown>>;
  /** Present where a caller may prove itself by an access token, call by call; that then says who it is. */
  readonly bearer?: AuthenticateBearer | undefined;
}

export function route<S extends DescService>(
  service: S,
  handlers: Handlers<S>,
  options: { readonly bearer?: AuthenticateBearer } = {},
): Route {
  return { service, handlers, ...options };
}

/** As `route`, with handlers that are loaded with the first call of one of them (ADR 92). */
export function routeWhenCalled<S extends DescService>(service: S, load: () => Promise<Handlers<S>>): Route {
  type Handler = (request: unknown, context: CallContext) => unknown;
  let loaded: Promise<Readonly<Record<string, Handler>>> | undefined;
  const handler = async (name: string): Promise<Handler> => {
    loaded ??= load() as unknown as Promise<Readonly<Record<string, Handler>>>;
    const found = (await loaded)[name];
    if (found === undefined) throw new Error(`${service.typeName} has no handler of ${name}`);
    return found;
  };
  const handlers = service.methods.map(({ localName, methodKind }): [string, Handler] => [
    localName,
    methodKind === 'unary'
      ? async (request, context) => (await handler(localName))(request, context)
      : async function* stream(request, context) {
          yield* (await handler(localName))(request, context) as AsyncIterable<unknown>;
        },
  ]);
  return { service, handlers: Object.fromEntries(handlers) };
}

/** What `build<Service>` returns: how it is called, when it is ready, how it ends. */
export interface BuiltService {
  readonly name: CallerName;
  readonly routes: readonly Route[];
  /** Resolves when the service can answer; rejects with the reason while it cannot. */
  ready(): Promise<void>;
  /** Ends background work and flushes what is buffered. Handles it was given are closed by who opened them. */
  close(): Promise<void>;
}

/** What a handler throws, and a caller catches, that is no protocol error: for example `Code.NotFound`. */
export { Code, ConnectError } from '@connectrpc/connect';
export type { CallOptions, Client };
