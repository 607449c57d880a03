import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLocal, type CallOptions } from '@tessera/rpc';
import type { GatewayPeers } from '../gateway.ts';

/**
 * A request waits for a service of other processes as long as for this many statements: one that is lost is not waited
 * for longer.
 */
const remoteStatements = 2;
/** In this process no packet is lost, so that only work takes time: more than the queue of hashes makes it wait. */
const localStatements = 4;

/** Less than the silence after which a connection is closed: the client gets its answer. */
const longestMs = 25_000;

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
 * The services as requests call them: every call has a deadline, and the signal of the client that waits. Work that
 * several requests share calls the services themselves.
 * @param statementSeconds how long a statement may take: whoever allows more than a second has slower stores, and waits
 *   for what they do; less than a second leaves the time that other work takes
 */
export function boundedPeers(peers: GatewayPeers, statementSeconds: number): GatewayPeers {
  const bounded = Object.entries(peers).map(([name, client]) => [
    name,
    boundedClient(client as object, statementSeconds),
  ]);
  return Object.fromEntries(bounded) as GatewayPeers;
}

type Method = (request: unknown, options?: CallOptions) => unknown;

function boundedClient(client: object, statementSeconds: number): object {
  const statements = isLocal(client) ? localStatements : remoteStatements;
  const timeoutMs = Math.min(statements * Math.max(1, statementSeconds) * 1_000, longestMs);
  const methods = Object.entries(client as Readonly<Record<string, Method>>).map(([name, method]) => {
    const call: Method = (request, options) => {
      const signal = options?.signal ?? leaving.getStore();
      return method(request, { timeoutMs, ...options, ...(signal !== undefined && { signal }) });
    };
    return [name, call];
  });
  return Object.fromEntries(methods) as object;
}
