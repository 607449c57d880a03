import { createServer as createHttp1Server, type RequestListener } from 'node:http';
import { createSecureServer, createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { watchCertificates } from '../../client/channel/certificates.ts';
import { warnNotReloaded, type RpcServerCredentials } from '../../credentials.ts';
import {
  connectionPlaces,
  type ConnectionPlaces,
  type Peer,
  type PlacesOptions,
} from './connection-places.ts';

/** A server of HTTP/1.1 and HTTP/2 that does not listen yet. */
export interface Listener {
  readonly server: Server;
  /** No new connections and no new streams on those of HTTP/2; resolves once the latter are closed. */
  end(): Promise<void>;
  /** Cuts every connection. */
  cut(): void;
  /** Tells that a caller of a connection was authenticated, so that it keeps its place. */
  letIn(peer: Peer): void;
}

interface ListenerOptions extends Partial<PlacesOptions> {
  readonly log: Logger;
  /** `optional`: a connection without one, or with one that none of our authorities signed, is taken as one without. */
  readonly certificates: 'required' | 'optional';
}

const idleMs = 120_000;
const settings = { maxConcurrentStreams: 100 };

/** With certificates over TLS, where ALPN chooses the protocol; otherwise in the clear, where the first bytes do. */
export async function createListener(
  credentials: RpcServerCredentials,
  handle: RequestListener,
  options: ListenerOptions,
): Promise<Listener> {
  const { connections = 1_000, headMs = 10_000 } = options;
  const places = connectionPlaces({ connections, headMs });
  const serve: RequestListener = (request, response) => {
    places.serve(request, response);
    handle(request, response);
  };
  return credentials.kind === 'mtls'
    ? overTls(credentials, serve, places, { ...options, headMs })
    : inTheClear(serve, places);
}

/** An HTTP/2 client that knows what it speaks to begins with a preface that is no HTTP/1.1 (RFC 9113 §3.4). */
function inTheClear(serve: RequestListener, places: ConnectionPlaces): Listener {
  const http1 = createHttp1Server(serve).setTimeout(idleMs);
  // A request of HTTP/2 has what one of HTTP/1.1 has.
  const http2 = createHttp2Server({ settings }, serve as unknown as Parameters<typeof createHttp2Server>[1]);
  http2.setTimeout(idleMs);
  const server = createTcpServer((socket) => {
    const leave = () => socket.destroy();
    socket.on('error', leave);
    socket.once('data', (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      const isHttp2 = first.subarray(0, 3).toString('latin1') === 'PRI';
      (isHttp2 ? http2 : http1).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  return { server, ...endsOf(server, http2, places) };
}

async function overTls(
  credentials: RpcServerCredentials & { readonly kind: 'mtls' },
  serve: RequestListener,
  places: ConnectionPlaces,
  { log, certificates: needed, headMs }: ListenerOptions & Pick<PlacesOptions, 'headMs'>,
): Promise<Listener> {
  const rejectUnauthorized = needed === 'required';
  const certificates = watchCertificates(credentials, (error) => warnNotReloaded(log, credentials, error));
  const context: { ca?: Buffer; cert?: Buffer; key?: Buffer } = {};
  const server = createSecureServer(
    { allowHTTP1: true, requestCert: true, rejectUnauthorized, handshakeTimeout: headMs, settings },
    serve as unknown as Parameters<typeof createSecureServer>[1],
  );
  server.setTimeout(idleMs);
  const first = Promise.withResolvers<void>();
  const changed = (update: typeof context): void => {
    Object.assign(context, update);
    if (context.ca === undefined || context.cert === undefined) return;
    server.setSecureContext(context);
    first.resolve();
  };
  const authorities: Parameters<typeof certificates.addCaCertificateListener>[0] = (update) => {
    if (update !== null) changed({ ca: update.caCertificate });
  };
  const identity: Parameters<typeof certificates.addIdentityCertificateListener>[0] = (update) => {
    if (update !== null) changed({ cert: update.certificate, key: update.privateKey });
  };
  certificates.addCaCertificateListener(authorities);
  certificates.addIdentityCertificateListener(identity);
  server.once('close', () => {
    certificates.removeCaCertificateListener(authorities);
    certificates.removeIdentityCertificateListener(identity);
  });
  await first.promise;
  return { server: server as unknown as Server, ...endsOf(server, server, places) };
}

type Listening = Pick<Server, 'close'> & {
  on(event: 'connection', listener: (socket: Socket) => void): unknown;
};
type Http2 = { on(event: 'session', listener: (session: ServerHttp2Session) => void): unknown };

function endsOf(server: Listening, http2: Http2, places: ConnectionPlaces): Omit<Listener, 'server'> {
  const sessions = new Map<ServerHttp2Session, Promise<void>>();
  server.on('connection', (socket) => places.take(socket));
  http2.on('session', (session) => {
    const closed = new Promise<void>((resolve) => session.once('close', resolve));
    sessions.set(session, closed);
    void closed.then(() => sessions.delete(session));
  });
  return {
    async end() {
      server.close();
      for (const session of sessions.keys()) session.close();
      await Promise.all(sessions.values());
    },
    cut: () => places.cutAll(),
    letIn: (peer) => places.letIn(peer),
  };
}
