import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from '@tessera/stores';
import { limitRepeats, metrics, type Logger } from '@tessera/telemetry';
import type { Networks } from '../http/caller-address.ts';

/**
 * How many connections a process holds at once. What they send before it can be judged takes memory: 64 KiB of head or
 * body each.
 */
export interface ConnectionBounds {
  readonly inAll: number;
  /** From one address, or one /64 of IPv6; a trusted proxy speaks for many and has no bound of its own. */
  readonly ofOneAddress: number;
}

export const usualBounds: ConnectionBounds = { inAll: 3_000, ofOneAddress: 1_000 };

/** Which bound ends a connection. */
type Reason = 'address' | 'all';

/** Which connection ends. */
const ending = {
  idle: 'closing the oldest without a whole request under way',
  unread: 'closing the oldest that leaves its answer unread',
  latest: 'closing the new one, as each of the others has a request under way',
};

const closed = metrics.counter({
  name: 'tessera_http_connections_closed_total',
  help: 'Connections closed because there were too many: of one address, or in all.',
  labels: ['reason'],
});

interface Connection {
  readonly socket: Socket;
  /** The request that came last, and its answer. */
  last: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined;
}

/**
 * Bounds the connections of a server. Where there are too many, the oldest one ends that has no whole request under
 * way: of the same address, or of the one that has most of them, so that silence takes no place from another address.
 * Where all have one, it is the oldest that leaves its answer unread. Each is counted; the log says so at once, and
 * then once a minute.
 */
export function boundConnections(
  server: Server,
  proxies: Networks,
  { inAll, ofOneAddress }: ConnectionBounds,
  log: Pick<Logger, 'warn'>,
): void {
  const warnings = limitRepeats(log);
  const byAddress = new Map<string, Set<Connection>>();
  const connections = new WeakMap<Socket, Connection>();
  let open = 0;

  function leave(address: string, connection: Connection): void {
    const same = byAddress.get(address);
    if (same?.delete(connection) !== true) return;
    open -= 1;
    if (same.size === 0) byAddress.delete(address);
  }

  function end(socket: Socket, reason: Reason, which: keyof typeof ending): void {
    closed.labels(reason).inc();
    const fields = { reason, ipAddress: socket.remoteAddress, open };
    warnings.warn(`${reason} ${which}`, fields, `too many connections; ${ending[which]}`);
    socket.destroy();
  }

  function endOldest(address: string, reason: Reason, which: keyof typeof mayEnd): boolean {
    for (const connection of byAddress.get(address) ?? []) {
      if (!mayEnd[which](connection)) continue;
      end(connection.socket, reason, which);
      leave(address, connection);
      return true;
    }
    return false;
  }

  const makeRoomIn = (addresses: readonly string[], reason: Reason): boolean =>
    (['idle', 'unread'] as const).some((which) =>
      addresses.some((address) => endOldest(address, reason, which)),
    );

  function makeRoom(): boolean {
    const byMost = [...byAddress.keys()].toSorted(
      (one, other) => (byAddress.get(other)?.size ?? 0) - (byAddress.get(one)?.size ?? 0),
    );
    return makeRoomIn(byMost, 'all');
  }

  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress ?? '';
    const address = addressKey(peer);
    const tooMany = !proxies.contains(peer) && (byAddress.get(address)?.size ?? 0) >= ofOneAddress;
    if (tooMany && !makeRoomIn([address], 'address')) return end(socket, 'address', 'latest');
    if (open >= inAll && !makeRoom()) return end(socket, 'all', 'latest');
    const connection: Connection = { socket, last: undefined };
    connections.set(socket, connection);
    const same = byAddress.get(address);
    if (same === undefined) byAddress.set(address, new Set([connection]));
    else same.add(connection);
    open += 1;
    socket.once('close', () => leave(address, connection));
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket);
    if (connection !== undefined) connection.last = { request, response };
  });
}

const mayEnd = {
  /** No request came whole, or the system has taken the answer to the last one. */
  idle: ({ last }: Connection): boolean =>
    last === undefined || !last.request.complete || last.response.writableFinished,
  /** The answer to the last request is complete, and its client leaves it to us. */
  unread: ({ last }: Connection): boolean => last?.response.writableEnded === true,
};
