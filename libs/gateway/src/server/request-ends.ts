import type { Socket } from 'node:net';
import type { Clock } from '@tessera/kit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Status of a request whose client left before the answer; never sent. nginx logs the same number. */
export const clientLeft = 499;

/** Most requests of one connection that may be unanswered; browsers and clients have one. */
const maxPipelined = 16;

/** What to do when a request ends. `milliseconds`: since its headers arrived. */
export type Ended = (request: FastifyRequest, status: number, milliseconds: number) => void;

/** The requests of each connection that have not ended. */
export interface OpenRequests {
  /**
   * Counts a request. False: the connection sends requests without reading the answers, which would fill the memory.
   */
  add(request: FastifyRequest, reply: FastifyReply): boolean;
}

/**
 * Calls `ended` exactly once for every request that was added: when its answer was handed to the system, or, with the
 * status `clientLeft`, when its connection closed before that. Closes connections that have not read an answer after
 * `patience.silence`: until then it fills our memory, and a client that reads a little now and then never runs into the
 * time-out of the socket.
 */
export function watchRequestEnds(
  app: FastifyInstance,
  clock: Clock,
  { silence, interval }: { readonly silence: number; readonly interval: number },
  ended: Ended,
): OpenRequests {
  /** When the answers were complete that the system has not taken yet, oldest first. */
  const unread = new Map<FastifyRequest, number>();
  let check: NodeJS.Timeout | undefined;
  const closeSlow = (): void => {
    const now = clock.now();
    for (const [request, since] of unread) {
      if (now - since < silence) break;
      request.raw.socket.destroy();
    }
    check = unread.size === 0 ? undefined : setTimeout(closeSlow, interval).unref();
  };
  const end: Ended = (request, status, milliseconds) => {
    unread.delete(request);
    ended(request, status, milliseconds);
  };
  const connections = new WeakMap<Socket, Map<FastifyRequest, FastifyReply>>();
  const opened = (socket: Socket): Map<FastifyRequest, FastifyReply> => {
    const open = new Map<FastifyRequest, FastifyReply>();
    connections.set(socket, open);
    // The answer itself gets no `close` while it waits behind another one of its connection.
    socket.once('close', () => {
      for (const [request, reply] of open) end(request, clientLeft, reply.elapsedTime);
      open.clear();
    });
    return open;
  };
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (connections.get(request.raw.socket)?.has(request) === true) unread.set(request, clock.now());
    check ??= setTimeout(closeSlow, interval).unref();
    done(null, payload);
  });
  // Does not run for a request whose connection closed first.
  app.addHook('onResponse', (request, reply, done) => {
    if (connections.get(request.raw.socket)?.delete(request) === true)
      end(request, reply.statusCode, reply.elapsedTime);
    done();
  });
  return {
    add(request, reply) {
      const { socket } = request.raw;
      const open = connections.get(socket) ?? opened(socket);
      if (open.size >= maxPipelined) return false;
      open.set(request, reply);
      return true;
    },
  };
}
