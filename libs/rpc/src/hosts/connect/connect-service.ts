import type { DescMethod, Message } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  createContextKey,
  type ConnectRouter,
  type HandlerContext,
  type MethodImpl,
} from '@connectrpc/connect';
import { methodName } from '@tessera/telemetry';
import type { Logger } from 'pino';
import { requestIdIn, type AdmittedCaller } from '../../access/admission.ts';
import { actorKey } from '../../actor.ts';
import { cancelled } from '../../call-options.ts';
import { traceOriginOf } from '../../call-traces.ts';
import type { Route } from '../../call.ts';
import { refuseFor, type PublicError } from '../../errors/refusal.ts';
import { streamingInvocation, unaryInvocation } from '../invocation.ts';
import { ServedCall } from '../../served-call.ts';
import { toConnectError } from './connect-error.ts';

/** The caller that passed the check. Handlers trust this alone, not what the call says about itself. */
export const admittedKey = createContextKey<AdmittedCaller | undefined>(undefined);

/** Adds the handlers of a route. `streams` has, while they run, the calls whose answer is a stream. */
export function addRoute(router: ConnectRouter, route: Route, log: Logger, streams: Set<ServedCall>): void {
  for (const method of route.service.methods) {
    const implementation =
      method.methodKind === 'server_streaming'
        ? serveStream(route, method, log, streams)
        : serveUnary(route, method, log);
    router.rpc(method, implementation as MethodImpl<DescMethod>);
  }
}

function serveUnary(route: Route, method: DescMethod, log: Logger) {
  const invoke = unaryInvocation(route, method, refuseFor(log, methodName(method)));
  return async (request: Message, context: HandlerContext): Promise<Message> => {
    const call = arrive(context);
    try {
      // Connect itself waits for a handler beyond its deadline.
      return await call.untilCancelled(invoke(request, call));
    } catch (error) {
      throw toConnectError(error as PublicError);
    } finally {
      call.finish();
    }
  };
}

function serveStream(route: Route, method: DescMethod, log: Logger, streams: Set<ServedCall>) {
  const invoke = streamingInvocation(route, method, refuseFor(log, methodName(method)));
  async function* answer(request: Message, call: ServedCall): AsyncGenerator<Message, void> {
    streams.add(call);
    try {
      yield* invoke(request, call);
    } catch (error) {
      throw toConnectError(error as PublicError);
    } finally {
      streams.delete(call);
    }
  }
  return (request: Message, context: HandlerContext): AsyncIterable<Message> => {
    const call = arrive(context);
    const responses = answer(request, call);
    // Connect does not return a generator whose reader left between two messages.
    onAbort(context.signal, () => void responses.return().catch(() => undefined));
    return responses;
  };
}

function arrive(context: HandlerContext): ServedCall {
  const admitted = context.values.get(admittedKey);
  if (admitted?.caller === undefined) throw new Error('call without a caller');
  const { caller, principal } = admitted;
  const timeoutMs = context.timeoutMs();
  const header = (name: string) => context.requestHeader.get(name) ?? '';
  const call = new ServedCall({
    caller,
    principal,
    actor: header(actorKey),
    requestId: requestIdIn({ header }),
    deadline: timeoutMs === undefined ? Infinity : Date.now() + timeoutMs,
    cancellable: true,
    origin: traceOriginOf('connectrpc', Object.fromEntries(context.requestHeader), caller),
  });
  onAbort(context.signal, () => call.cancel(endOf(context.signal)));
  return call;
}

/** Why a call is over: its deadline, or its caller left. */
function endOf({ reason }: AbortSignal): ConnectError {
  const isDeadline = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  return isDeadline ? new ConnectError('deadline exceeded', Code.DeadlineExceeded) : cancelled();
}

function onAbort(signal: AbortSignal, react: () => void): void {
  if (signal.aborted) react();
  else signal.addEventListener('abort', react, { once: true });
}
