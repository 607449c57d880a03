import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import type { CallOptions, Client } from '@connectrpc/connect';
import { methodName } from '@tessera/telemetry';

/** One method of a client: what is given is an initializer or a message of its input type. */
export type Initializer = Record<string, unknown>;
export type UnaryCall = (init: Initializer, options?: CallOptions) => Promise<Message>;
export type StreamingCall = (init: Initializer, options?: CallOptions) => AsyncIterable<Message>;

/** How the methods of a client are made: one way for calls in process, one for calls over the wire. */
export interface Caller {
  unary(method: DescMethod): UnaryCall;
  stream(method: DescMethod): StreamingCall;
}

/** A Connect client whose methods are made once, so that a call costs no look-up and no interceptor chain. */
export function typedClient<S extends DescService>(service: S, caller: Caller): Client<S> {
  const client: Record<string, UnaryCall | StreamingCall> = {};
  for (const method of service.methods) {
    if (method.methodKind === 'unary') client[method.localName] = caller.unary(method);
    else if (method.methodKind === 'server_streaming') client[method.localName] = caller.stream(method);
    else throw new Error(`${methodName(method)}: only unary and server-streaming methods exist here`);
  }
  return client as Client<S>;
}
