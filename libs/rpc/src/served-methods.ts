import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Route } from './call.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import { requestIdOf } from './gate.ts';
import type { AuthenticatedPeer, ServedMethod } from './gate.ts';
import { streamingInvocation, unaryInvocation } from './invocation.ts';
import type { OpenStreams } from './open-streams.ts';
import { refuseFor } from './refusal.ts';
import type { Refuse } from './refusal.ts';
import { cancelled, ServedCall } from './served-call.ts';
import type { WireCall } from './wire-call.ts';
import { toStatus } from './wire-errors.ts';
import type { PublicError } from './refusal.ts';
import { traceOriginOf } from './call-traces.ts';

type Serve = ServedMethod['serve'];

/**
 * The methods of a route as a server takes them.
 * @param open holds the streams that are being answered, so that a server that drains can end them
 */
export function servedMethods(route: Route, log: Logger, open: OpenStreams): ServedMethod[] {
  return route.service.methods.map((method) => {
    const name = `${route.service.typeName}/${method.name}`;
    const refuse = refuseFor(log, name);
    const serve =
      method.methodKind === 'server_streaming'
        ? serveStream(route, method, refuse, open)
        : serveUnary(route, method, refuse);
    const callers = route.allow[method.localName] ?? [];
    return { path: `/${name}`, callers, bearer: route.bearer, serve };
  });
}

function serveUnary(route: Route, method: DescMethod, refuse: Refuse): Serve {
  const invoke = unaryInvocation(route, method, refuse);
  const answer = async (call: ServedCall, bytes: Buffer): Promise<Buffer> =>
    write(method, await invoke(read(method, bytes), call), refuse, call);
  return (incoming, peer) => {
    const call = arrive(incoming, peer);
    incoming.readMessage((message) => {
      answer(call, message).then(
        (bytes) => {
          call.finish();
          incoming.answer(bytes);
        },
        (error: PublicError) => {
          call.finish();
          incoming.fail(toStatus(error));
        },
      );
    });
  };
}

function serveStream(route: Route, method: DescMethod, refuse: Refuse, open: OpenStreams): Serve {
  const invoke = streamingInvocation(route, method, refuse);
  const answer = async (incoming: WireCall, call: ServedCall, message: Buffer): Promise<void> => {
    if (call.cancellation !== undefined) throw call.cancellation;
    for await (const response of invoke(read(method, message), call)) {
      if (!incoming.write(write(method, response, refuse, call))) await drained(incoming, call);
    }
  };
  return (incoming, peer) => {
    const call = arrive(incoming, peer);
    incoming.readMessage((message) => {
      open.add(call);
      const settled = answer(incoming, call, message).then(
        () => incoming.end(),
        (error: PublicError) => incoming.fail(toStatus(error)),
      );
      void settled.finally(() => open.delete(call));
    });
  };
}

/** Waits until the peer took what was written: a slow consumer slows its producer. */
async function drained({ outgoing }: WireCall, call: ServedCall): Promise<void> {
  if (call.cancellation !== undefined) throw call.cancellation;
  const waiting = new AbortController();
  try {
    await call.untilCancelled(once(outgoing, 'drain', { signal: waiting.signal }));
  } finally {
    waiting.abort();
  }
}

function arrive(incoming: WireCall, { caller, principal }: AuthenticatedPeer): ServedCall {
  // The gate lets no call without a caller through to a handler.
  if (caller === undefined) throw new Error('call without a caller');
  const call = new ServedCall({
    caller,
    principal,
    requestId: requestIdOf(incoming.headers),
    deadline: incoming.deadline,
    cancellable: true,
    origin: traceOriginOf(incoming.headers, caller),
  });
  incoming.onGone(() => call.cancel(cancelled()));
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
