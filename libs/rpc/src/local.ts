import { create } from '@bufbuild/protobuf';
import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import type { CallOptions, Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import { methodName } from '@tessera/telemetry';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { deadlineOf, isBounded, requestIdOf, watchEnd } from './call-options.ts';
import type { BuiltService, CallerName, Route } from './call.ts';
import { streamingInvocation, unaryInvocation } from './invocation.ts';
import { refuseFor, seenByCaller } from './refusal.ts';
import { ServedCall } from './served-call.ts';
import { typedClient } from './typed-client.ts';
import type { StreamingCall, UnaryCall } from './typed-client.ts';

/**
 * A client that calls the handlers of a service in this process, with the checks and the errors of a call over the
 * wire. Messages are handed over as they are, so neither side may change one afterwards. A call without `timeoutMs`
 * and `signal` costs no timer and no signal; there is no default time-out here.
 * @param as the service on whose behalf the calls are made
 * @param log where the serving side writes the causes it keeps back
 * @throws Error at once when `built` does not offer `service`
 */
export function local<S extends DescService>(
  service: S,
  built: BuiltService,
  as: CallerName,
  log: Logger = pino({ name: built.name }),
): Client<S> {
  const route = built.routes.find((candidate) => candidate.service.typeName === service.typeName);
  if (route === undefined) throw new Error(`${built.name} does not offer ${service.typeName}`);
  return typedClient(service, {
    unary: (method) => localUnary(route, method, as, log),
    stream: (method) => localStream(route, method, as, log),
  });
}

function localUnary(route: Route, method: DescMethod, as: CallerName, log: Logger): UnaryCall {
  const name = methodName(method);
  const invoke = unaryInvocation(route, method, refuseFor(log, name));
  const allowed = isAllowed(route, method, as);
  const { input } = method;
  return async (init, options = {}) => {
    if (!allowed) throw notAllowed(log, name, as, options);
    const call = arrive(as, options);
    try {
      const request = create(input, init);
      if (!isBounded(options)) return await invoke(request, call);
      return await bounded(options, call, () => invoke(request, call));
    } catch (error) {
      throw asSeen(error, name);
    }
  };
}

function localStream(route: Route, method: DescMethod, as: CallerName, log: Logger): StreamingCall {
  const name = methodName(method);
  const invoke = streamingInvocation(route, method, refuseFor(log, name));
  const allowed = isAllowed(route, method, as);
  const { input } = method;
  return async function* stream(init, options = {}): AsyncGenerator<Message, void> {
    if (!allowed) throw notAllowed(log, name, as, options);
    const call = arrive(as, options, true);
    const stop = watchEnd(options, (reason) => call.cancel(reason));
    try {
      if (call.cancellation !== undefined) throw call.cancellation;
      yield* invoke(create(input, init), call);
    } catch (error) {
      throw asSeen(error, name);
    } finally {
      stop();
    }
  };
}

/** Settles with the work, or before it when the time is over or the caller gives up; the work is then told by its signal. */
async function bounded(
  options: CallOptions,
  call: ServedCall,
  work: () => Promise<Message>,
): Promise<Message> {
  const stop = watchEnd(options, (reason) => call.cancel(reason));
  try {
    if (call.cancellation !== undefined) throw call.cancellation;
    return await call.untilCancelled(work());
  } finally {
    stop();
    call.finish();
  }
}

function arrive(caller: CallerName, options: CallOptions, stream = false): ServedCall {
  return new ServedCall({
    caller,
    requestId: requestIdOf(options),
    deadline: deadlineOf(options),
    cancellable: stream || isBounded(options),
  });
}

function isAllowed(route: Route, method: DescMethod, caller: CallerName): boolean {
  return route.allow[method.localName]?.includes(caller) === true;
}

function notAllowed(log: Logger, method: string, caller: CallerName, options: CallOptions): ConnectError {
  log.warn({ method, caller, requestId: requestIdOf(options) }, 'caller is not on the list of the method');
  return new ConnectError(`${caller} may not call ${method}`, Code.PermissionDenied);
}

function asSeen(error: unknown, method: string): unknown {
  return error instanceof ConnectError ? seenByCaller(error, method) : error;
}
