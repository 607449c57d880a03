import { create, type DescMethod, type DescService, type Message } from '@bufbuild/protobuf';
import { ConnectError, type CallOptions, type Client } from '@connectrpc/connect';
import { methodName } from '@tessera/telemetry';
import { pino, type Logger } from 'pino';
import { actorKey } from '../../actor.ts';
import { accessTo, checkCaller } from '../../access/check-caller.ts';
import { deadlineOf, headersOf, isBounded, requestIdOf, watchEnd } from '../../call-options.ts';
import type { BuiltService, CallerName, Route } from '../../call.ts';
import { streamingInvocation, unaryInvocation, type UnaryInvocation } from '../invocation.ts';
import { refuseFor, seenByCaller } from '../../errors/refusal.ts';
import { ServedCall } from '../../served-call.ts';
import { typedClient, type StreamingCall, type UnaryCall } from '../../typed-client.ts';

/** Clients of services in this process. */
const localClients = new WeakSet();

/** Whether calls of this client stay in this process, so that its streams cannot break without an error. */
export const isLocal = (client: object): boolean => localClients.has(client);

/**
 * A client that calls the handlers of a service in this process, with the checks and the errors of a call over the
 * wire. Messages are handed over as they are, so neither side may change one afterwards. A call without `timeoutMs`
 * and `signal` costs no timer and no signal; there is no default time-out here.
 * @param as the service on whose behalf the calls are made
 * @param log where the serving side writes the causes it keeps back
 * @throws Error at once when `built` does not offer `service`, or a method does not declare who may call it
 */
export function local<S extends DescService>(
  service: S,
  built: BuiltService,
  as: CallerName,
  log: Logger = pino({ name: built.name }),
): Client<S> {
  const route = built.routes.find((candidate) => candidate.service.typeName === service.typeName);
  if (route === undefined) throw new Error(`${built.name} does not offer ${service.typeName}`);
  const client = typedClient(route.service as S, {
    unary: (method) => localUnary(route, method, entrance(route, method, as, log)),
    stream: (method) => localStream(route, method, entrance(route, method, as, log)),
  });
  localClients.add(client);
  return client;
}

type Entrance = ReturnType<typeof entrance>;

/** Where the calls of a caller reach a method. */
function entrance(route: Route, method: DescMethod, caller: CallerName, log: Logger) {
  const name = methodName(method);
  const access = accessTo(route, method);
  return {
    refuse: refuseFor(log, name),
    /** The call as it arrives. Throws unless the method is declared for the caller. */
    arrive(options: CallOptions, cancellable: boolean): ServedCall {
      const requestId = requestIdOf(options);
      const refusal = checkCaller({ caller }, access, name);
      if (refusal === undefined) {
        const actor = headersOf(options)[actorKey];
        return new ServedCall({ caller, actor, requestId, deadline: deadlineOf(options), cancellable });
      }
      const details = refusal instanceof ConnectError ? refusal.rawMessage : refusal.message;
      log.warn({ method: name, caller, requestId, details }, 'call refused');
      throw refusal;
    },
    /** An error as the caller sees it. */
    asSeen: (error: unknown): unknown => (error instanceof ConnectError ? seenByCaller(error, name) : error),
  };
}

function localUnary(route: Route, method: DescMethod, entrance: Entrance): UnaryCall {
  return servedUnary(method, unaryInvocation(route, method, entrance.refuse), entrance);
}

/** A unary call of this process to a handler in it. */
export function servedUnary(
  { input }: DescMethod,
  invoke: UnaryInvocation,
  { arrive, asSeen }: Pick<Entrance, 'arrive' | 'asSeen'>,
): UnaryCall {
  return async (init, options = {}) => {
    const mayEndEarly = isBounded(options);
    const call = arrive(options, mayEndEarly);
    const stop = watchEnd(options, (reason) => call.cancel(reason));
    try {
      if (call.cancellation !== undefined) throw call.cancellation;
      const work = invoke(create(input, init), call);
      return await (mayEndEarly ? call.untilCancelled(work) : work);
    } catch (error) {
      throw asSeen(error);
    } finally {
      stop();
      call.finish();
    }
  };
}

function localStream(route: Route, method: DescMethod, { refuse, arrive, asSeen }: Entrance): StreamingCall {
  const invoke = streamingInvocation(route, method, refuse);
  const { input } = method;
  return async function* stream(init, options = {}): AsyncGenerator<Message, void> {
    const call = arrive(options, true);
    const stop = watchEnd(options, (reason) => call.cancel(reason));
    try {
      if (call.cancellation !== undefined) throw call.cancellation;
      yield* invoke(create(input, init), call);
    } catch (error) {
      throw asSeen(error);
    } finally {
      stop();
    }
  };
}
