import { create, type DescMethod, type Message } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { inCall } from '@tessera/kit';
import { measureMethod, methodName } from '@tessera/telemetry';
import { tenantCheck } from '../access/check-caller.ts';
import { textCheck } from '../access/text-check.ts';
import { traceServed } from '../call-traces.ts';
import type { CallerName, Route } from '../call.ts';
import type { Refuse } from '../errors/refusal.ts';
import type { ServedCall } from '../served-call.ts';
import type { Initializer } from '../typed-client.ts';

type UnaryHandler = (request: Message, call: ServedCall) => Promise<Initializer> | Initializer;
type StreamingHandler = (request: Message, call: ServedCall) => AsyncIterable<Initializer>;

/** Runs the handler of a unary method; what it throws is refused. */
export type UnaryInvocation = (request: Message, call: ServedCall) => Promise<Message>;
/** Runs the handler of a streaming method until it ends, fails, the call is cancelled or the consumer leaves. */
export type StreamingInvocation = (request: Message, call: ServedCall) => AsyncGenerator<Message, void>;

export function unaryInvocation(route: Route, method: DescMethod, refuse: Refuse): UnaryInvocation {
  const handler = inTime(method, handlerOf(route, method) as UnaryHandler);
  const { output } = method;
  const checkTenant = tenantCheck(method);
  const checkTexts = textCheck(method);
  const measured = measureMethod(method);
  return traceServed(method, async (request, call) => {
    const startedAt = performance.now();
    try {
      checkTenant?.(request, call);
      checkTexts?.(request);
      const response = create(output, await handler(request, call));
      measured.answered(startedAt);
      return response;
    } catch (error) {
      measured.failed(startedAt, error);
      throw refuse(error, call);
    }
  });
}

export function streamingInvocation(route: Route, method: DescMethod, refuse: Refuse): StreamingInvocation {
  const handler = handlerOf(route, method) as StreamingHandler;
  const { output } = method;
  const checkTenant = tenantCheck(method);
  const checkTexts = textCheck(method);
  return async function* responses(request, call) {
    let source: AsyncIterator<Initializer> | undefined;
    let ended = false;
    try {
      checkTenant?.(request, call);
      checkTexts?.(request);
      source = handler(request, call)[Symbol.asyncIterator]();
      for (;;) {
        const next = await call.untilCancelled(source.next());
        if (next.done === true) break;
        yield create(output, next.value);
      }
      ended = true;
    } catch (error) {
      throw refuse(error, call);
    } finally {
      // A handler that waits for something to send is woken by its signal; its generator is closed behind that.
      if (!ended) {
        call.cancel();
        source?.return?.().catch((error: unknown) => refuse(error, call));
      }
      call.finish();
    }
  };
}

/** Who changes records for administrators. */
const administrators: ReadonlySet<CallerName> = new Set(['admin', 'operator']);

/**
 * What administration changes becomes final only while its caller waits, so that nothing changes after the caller was
 * told that the service is unavailable.
 */
function inTime(method: DescMethod, handler: UnaryHandler): UnaryHandler {
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return handler;
  return (request, call) =>
    administrators.has(call.caller) ? inCall(call, () => handler(request, call)) : handler(request, call);
}

function handlerOf(route: Route, method: DescMethod): unknown {
  const handler = route.handlers[method.localName];
  if (typeof handler !== 'function') {
    throw new Error(`${methodName(method)} has no handler`);
  }
  return handler.bind(route.handlers);
}
