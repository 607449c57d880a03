import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLocal, type CallOptions } from '@tessera/rpc';
import type { GatewayPeers } from '../gateway.ts';

/** How long a request waits for a service of other processes: one that is lost is not waited for longer. */
const remoteTimeoutMs = 2_000;
/** In this process no packet is lost, so that only work takes time: more than the queue of hashes makes it wait. */
const localTimeoutMs = 4_000;

/** Aborted when the client of the present request leaves. */
const leaving = new AsyncLocalStorage<AbortSignal>();
const controllers = new WeakMap<FastifyRequest, AbortController>();

/** Lets what a handler calls know whose request it works for. */
export function bindCalls(app: FastifyInstance): void {
  // After the body was read, which happens in the context of the connection.
  app.addHook('preHandler', (request, _reply, done) => {
    const controller = new AbortController();
    controllers.set(request, controller);
    leaving.run(controller.signal, done);
  });
}

/** The client of the request has left: what was called for it is cancelled. */
export function cancelCalls(request: FastifyRequest): void {
  controllers.get(request)?.abort();
}

/**
 * The services as requests call them: every call has a deadline, and the signal of the client that waits. Work that several
 * requests share calls the services themselves.
 */
export function boundedPeers(peers: GatewayPeers): GatewayPeers {
  const bounded = Object.entries(peers).map(([name, client]) => [name, boundedClient(client as object)]);
  return Object.fromEntries(bounded) as GatewayPeers;
}

type Method = (request: unknown, options?: CallOptions) => unknown;

function boundedClient(client: object): object {
  const timeoutMs = isLocal(client) ? localTimeoutMs : remoteTimeoutMs;
  const methods = Object.entries(client as Readonly<Record<string, Method>>).map(([name, method]) => {
    const call: Method = (request, options) => {
      const signal = options?.signal ?? leaving.getStore();
      return method(request, { timeoutMs, ...options, ...(signal !== undefined && { signal }) });
    };
    return [name, call];
  });
  return Object.fromEntries(methods) as object;
}
