import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { CallOptions, Client } from '@connectrpc/connect';

/** The processes that may call one another. `operator` is the command line and the admin API. */
export type CallerName =
  'gateway' | 'authorize' | 'token' | 'device' | 'keys' | 'directory' | 'operator' | 'introspector';

/** What a handler knows about the call it serves. */
export interface CallContext {
  /** Follows one request of the outside through every service. */
  readonly requestId: string;
  /** Who calls: by certificate, by shared token, or by composition in compact. */
  readonly caller: CallerName;
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

/** Who may call each method. There is no default: a method without a list does not compile. */
export type Allow<S extends DescService> = { readonly [M in keyof S['method']]: readonly CallerName[] };

/** One service of the wire with its handlers and its allow-list. */
export interface Route {
  readonly service: DescService;
  readonly handlers: Readonly<Record<string, unknown>>;
  readonly allow: Readonly<Record<string, readonly CallerName[]>>;
}

export function route<S extends DescService>(service: S, handlers: Handlers<S>, allow: Allow<S>): Route {
  return { service, handlers, allow };
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
