import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface PlacesOptions {
  /** Connections at once. */
  readonly connections: number;
  /** Until a connection has sent the head of its first request, or of the next one; milliseconds. */
  readonly headMs: number;
}

/** How a connection is called while it is open. */
export type Peer = string;

interface Place {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly address: string;
  /** A caller of it was authenticated. */
  letIn: boolean;
  requests: number;
  deadline: NodeJS.Timeout | undefined;
}

export interface ConnectionPlaces {
  /** Gives a new connection a place, or cuts it. */
  take(socket: Socket): void;
  /** Notes a request whose head has arrived. */
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** Notes that a caller of the connection was authenticated. */
  letIn(peer: Peer): void;
  cutAll(): void;
}

export function peerOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort'> | undefined | null): Peer {
  return `${socket?.remoteAddress}:${socket?.remotePort}`;
}

/**
 * The connections of a listener. Node's time-outs of heads run for a server of HTTP/1.1 that listens itself, and for no
 * other: here a connection is cut that has no request for too long, but for HTTP/2 of a caller that was let in. When
 * every place is taken, the oldest connection that nobody was let in by loses its own, of the address that has most of
 * them: silence takes no place from another address.
 */
export function connectionPlaces({ connections, headMs }: PlacesOptions): ConnectionPlaces {
  const places = new Map<Peer, Place>();

  function expectHead(place: Place): void {
    clearTimeout(place.deadline);
    place.deadline = setTimeout(() => place.socket.destroy(), headMs).unref();
  }

  function leave(place: Place): void {
    clearTimeout(place.deadline);
    if (places.get(place.peer) === place) places.delete(place.peer);
    place.socket.destroy();
  }

  function makeRoom(): boolean {
    const byAddress = new Map<string, Place[]>();
    for (const place of places.values()) {
      if (place.letIn) continue;
      const same = byAddress.get(place.address);
      if (same === undefined) byAddress.set(place.address, [place]);
      else same.push(place);
    }
    let most: Place[] = [];
    for (const same of byAddress.values()) if (same.length > most.length) most = same;
    const [oldest] = most;
    if (oldest !== undefined) leave(oldest);
    return oldest !== undefined;
  }

  return {
    take(socket) {
      if (places.size >= connections && !makeRoom()) return void socket.destroy();
      const place: Place = {
        socket,
        peer: peerOf(socket),
        address: socket.remoteAddress ?? '',
        letIn: false,
        requests: 0,
        deadline: undefined,
      };
      places.set(place.peer, place);
      expectHead(place);
      socket.once('close', () => leave(place));
    },
    serve(request, response) {
      const place = places.get(peerOf(request.socket));
      if (place === undefined) return;
      place.requests += 1;
      clearTimeout(place.deadline);
      let served = false;
      const end = (): void => {
        if (served) return;
        served = true;
        place.requests -= 1;
        const mayRest = place.letIn && request.httpVersionMajor === 2;
        if (place.requests === 0 && !mayRest && !place.socket.destroyed) expectHead(place);
      };
      // The answer may be complete while the body still arrives.
      response.once('finish', end).once('close', end);
    },
    letIn(peer) {
      const place = places.get(peer);
      if (place !== undefined) place.letIn = true;
    },
    cutAll() {
      for (const place of places.values()) leave(place);
    },
  };
}
