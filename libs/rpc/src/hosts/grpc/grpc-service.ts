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
import { methodName } from '@tessera/telemetry';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { requestIdIn } from '../../access/admission.ts';
import { actorKey } from '../../actor.ts';
import { checkedCaller, headerIn } from './caller-check-interceptor.ts';
import { traceOriginOf } from '../../call-traces.ts';
import type { Route } from '../../call.ts';
import { decodeMessage, encodeMessage } from '../../client/channel/grpc-client.ts';
import { toStatus } from '../../errors/error-status.ts';
import { streamingInvocation, unaryInvocation } from '../invocation.ts';
import { refuseFor, type PublicError, type Refuse } from '../../errors/refusal.ts';
import { ServedCall } from '../../served-call.ts';

type UnaryCall = ServerUnaryCall<Buffer, Buffer>;
type StreamCall = ServerWritableStream<Buffer, Buffer>;
type IncomingCall = Pick<UnaryCall, 'metadata' | 'getDeadline'> & {
  on(event: 'cancelled', listener: () => void): unknown;
};

/**
 * Turns the handlers of a route into a service of grpc-js. Bytes pass it unread, so that our rules refuse malformed
 * messages.
 */
export function grpcService(route: Route, log: Logger) {
  const definition: ServiceDefinition & Record<string, MethodDefinition<Buffer, Buffer>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const method of route.service.methods) {
    const refuse = refuseFor(log, methodName(method));
    const streaming = method.methodKind === 'server_streaming';
    definition[method.name] = {
      path: `/${methodName(method)}`,
      requestStream: false,
      responseStream: streaming,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    implementation[method.name] = streaming
      ? serveStream(route, method, refuse)
      : serveUnary(route, method, refuse);
  }
  return { definition, implementation };
}

function serveUnary(route: Route, method: DescMethod, refuse: Refuse): handleUnaryCall<Buffer, Buffer> {
  const invoke = unaryInvocation(route, method, refuse);
  const answer = async (incoming: UnaryCall, call: ServedCall): Promise<Buffer> =>
    write(method, await invoke(read(method, incoming.request), call), refuse, call);
  return (incoming, respond) => {
    const call = arrive(incoming);
    answer(incoming, call)
      .finally(() => call.finish())
      .then(
        (bytes) => respond(null, bytes),
        (error: PublicError) => respond(toStatus(error)),
      );
  };
}

function serveStream(
  route: Route,
  method: DescMethod,
  refuse: Refuse,
): handleServerStreamingCall<Buffer, Buffer> {
  const invoke = streamingInvocation(route, method, refuse);
  const answer = async (outgoing: StreamCall, call: ServedCall): Promise<void> => {
    for await (const response of invoke(read(method, outgoing.request), call)) {
      // A slow consumer slows its producer.
      if (!outgoing.write(write(method, response, refuse, call)))
        await call.untilCancelled(once(outgoing, 'drain'));
    }
  };
  return (outgoing) => {
    const call = arrive(outgoing);
    answer(outgoing, call).then(
      () => void outgoing.end(),
      (error: PublicError) => void outgoing.emit('error', toStatus(error)),
    );
  };
}

function arrive(incoming: IncomingCall): ServedCall {
  const { metadata } = incoming;
  const { caller, principal } = checkedCaller(metadata);
  const call = new ServedCall({
    caller,
    principal,
    actor: headerIn(metadata)(actorKey),
    requestId: requestIdIn({ header: headerIn(metadata) }),
    deadline: Number(incoming.getDeadline()),
    cancellable: true,
    origin: traceOriginOf('grpc', metadata.getMap() as Record<string, string>, caller),
  });
  // Emitted at the end of every call, also of one that was answered.
  incoming.on('cancelled', () => call.cancel());
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
