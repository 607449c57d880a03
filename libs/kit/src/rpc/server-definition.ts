import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { acceptableRequestId, requestIdKey } from './call-options.ts';
import type { Route } from './call.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import { admittedCaller, admittedPrincipal } from './gate.ts';
import { streamingInvocation, unaryInvocation } from './invocation.ts';
import { refuseFor } from './refusal.ts';
import type { Refuse } from './refusal.ts';
import { cancelled, ServedCall } from './served-call.ts';
import { toStatus } from './wire-errors.ts';
import type { PublicError } from './wire-errors.ts';
import { traceOriginOf } from '../telemetry/calls.ts';

/** One route as grpc-js takes it. Bytes pass it unread, so that a message that does not parse is refused by our rules. */
export interface ServerDefinition {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

type Incoming = Pick<ServerUnaryCall<Buffer, Buffer>, 'metadata' | 'getDeadline'> & {
  on(event: 'cancelled', listener: () => void): unknown;
};

/** @param open holds the streams that are being answered, so that a server that drains can end them */
export function serverDefinition(route: Route, log: Logger, open: Set<ServedCall>): ServerDefinition {
  const definition: Record<string, MethodDefinition<Buffer, Buffer>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const method of route.service.methods) {
    const path = methodPath(route, method);
    const refuse = refuseFor(log, path.slice(1));
    const streaming = method.methodKind === 'server_streaming';
    definition[method.name] = {
      path,
      requestStream: false,
      responseStream: streaming,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    implementation[method.name] = streaming
      ? serveStream(route, method, refuse, open)
      : serveUnary(route, method, refuse);
  }
  return { definition, implementation };
}

export function methodPath(route: Route, method: DescMethod): string {
  return `/${route.service.typeName}/${method.name}`;
}

function serveUnary(route: Route, method: DescMethod, refuse: Refuse): handleUnaryCall<Buffer, Buffer> {
  const invoke = unaryInvocation(route, method, refuse);
  const answer = async (incoming: ServerUnaryCall<Buffer, Buffer>, call: ServedCall): Promise<Buffer> => {
    const response = await invoke(read(method, incoming.request), call);
    return write(method, response, refuse, call);
  };
  return (incoming, respond) => {
    const call = arrive(incoming);
    answer(incoming, call).then(
      (bytes) => {
        call.finish();
        respond(null, bytes);
      },
      (error: PublicError) => {
        call.finish();
        respond(toStatus(error));
      },
    );
  };
}

function serveStream(
  route: Route,
  method: DescMethod,
  refuse: Refuse,
  open: Set<ServedCall>,
): handleServerStreamingCall<Buffer, Buffer> {
  const invoke = streamingInvocation(route, method, refuse);
  const answer = async (outgoing: ServerWritableStream<Buffer, Buffer>, call: ServedCall): Promise<void> => {
    for await (const response of invoke(read(method, outgoing.request), call)) {
      if (!outgoing.write(write(method, response, refuse, call))) await drained(outgoing, call);
    }
  };
  return (outgoing) => {
    const call = arrive(outgoing);
    open.add(call);
    const settled = answer(outgoing, call).then(
      () => void outgoing.end(),
      (error: PublicError) => void outgoing.emit('error', toStatus(error)),
    );
    void settled.finally(() => open.delete(call));
  };
}

/** Waits until the peer took what was written: a slow consumer slows its producer. */
async function drained(outgoing: ServerWritableStream<Buffer, Buffer>, call: ServedCall): Promise<void> {
  if (call.cancellation !== undefined) throw call.cancellation;
  const waiting = new AbortController();
  try {
    await call.untilCancelled(once(outgoing, 'drain', { signal: waiting.signal }));
  } finally {
    waiting.abort();
  }
}

function arrive(incoming: Incoming): ServedCall {
  const caller = admittedCaller(incoming.metadata);
  // The gate lets no call without a caller through to a handler.
  if (caller === undefined) throw new Error('call without a caller');
  const deadline = incoming.getDeadline();
  const call = new ServedCall({
    caller,
    principal: admittedPrincipal(incoming.metadata),
    requestId: acceptableRequestId(incoming.metadata.get(requestIdKey)[0]?.toString()),
    deadline: typeof deadline === 'number' ? deadline : deadline.getTime(),
    cancellable: true,
    origin: traceOriginOf(incoming.metadata, caller),
  });
  // Told at the end of every call, also of one that was answered.
  incoming.on('cancelled', () => {
    if (!call.finished) call.cancel(cancelled());
  });
  return call;
}

function read(method: DescMethod, bytes: Buffer): Message {
  try {
    return decodeMessage(method.input, bytes);
  } catch {
    throw new ConnectError('the request message is malformed', Code.InvalidArgument);
  }
}

function write(method: DescMethod, response: Message, refuse: Refuse, call: ServedCall): Buffer {
  try {
    return encodeMessage(method.output, response);
  } catch (error) {
    throw refuse(error, call);
  }
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
