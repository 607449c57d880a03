import { createServer as createHttp1Server, type RequestListener } from 'node:http';
import { createSecureServer, createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { watchCertificates } from '../../client/channel/certificates.ts';
import { warnNotReloaded, type RpcServerCredentials } from '../../credentials.ts';

/** A server of HTTP/1.1 and HTTP/2 that does not listen yet. */
export interface Listener {
  readonly server: Server;
  /** No new connections and no new streams on those of HTTP/2; resolves once the latter are closed. */
  end(): Promise<void>;
  /** Cuts every connection. */
  cut(): void;
}

interface TlsOptions {
  readonly log: Logger;
  /** `optional`: a connection without one, or with one that none of our authorities signed, is taken as one without. */
  readonly certificates: 'required' | 'optional';
}

const silentMs = 10_000;
const idleMs = 120_000;
const connections = 1_000;
const settings = { maxConcurrentStreams: 100 };

/** With certificates over TLS, where ALPN chooses the protocol; otherwise in the clear, where the first bytes do. */
export async function createListener(
  credentials: RpcServerCredentials,
  handle: RequestListener,
  options: TlsOptions,
): Promise<Listener> {
  return credentials.kind === 'mtls' ? overTls(credentials, handle, options) : inTheClear(handle);
}

/** An HTTP/2 client that knows what it speaks to begins with a preface that is no HTTP/1.1 (RFC 9113 §3.4). */
function inTheClear(handle: RequestListener): Listener {
  const http1 = createHttp1Server({ keepAliveTimeout: silentMs }, handle).setTimeout(idleMs);
  // A request of HTTP/2 has what one of HTTP/1.1 has.
  const http2 = createHttp2Server({ settings }, handle as unknown as Parameters<typeof createHttp2Server>[1]);
  http2.setTimeout(idleMs);
  const server = createTcpServer((socket) => {
    const leave = () => socket.destroy();
    socket.setTimeout(silentMs, leave);
    socket.on('error', leave);
    socket.once('data', (first: Buffer) => {
      socket.pause().setTimeout(0).off('timeout', leave);
      socket.unshift(first);
      const isHttp2 = first.subarray(0, 3).toString('latin1') === 'PRI';
      (isHttp2 ? http2 : http1).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  return { server, ...endsOf(server, http2) };
}

async function overTls(
  credentials: RpcServerCredentials & { readonly kind: 'mtls' },
  handle: RequestListener,
  { log, certificates: needed }: TlsOptions,
): Promise<Listener> {
  const rejectUnauthorized = needed === 'required';
  const certificates = watchCertificates(credentials, (error) => warnNotReloaded(log, credentials, error));
  const context: { ca?: Buffer; cert?: Buffer; key?: Buffer } = {};
  const server = createSecureServer(
    { allowHTTP1: true, requestCert: true, rejectUnauthorized, handshakeTimeout: silentMs, settings },
    handle as unknown as Parameters<typeof createSecureServer>[1],
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
  return { server: server as unknown as Server, ...endsOf(server, server) };
}

type Listening = Pick<Server, 'maxConnections' | 'close'> & {
  on(event: 'connection', listener: (socket: Socket) => void): unknown;
};
type Http2 = { on(event: 'session', listener: (session: ServerHttp2Session) => void): unknown };

function endsOf(server: Listening, http2: Http2): Omit<Listener, 'server'> {
  const sockets = new Set<Socket>();
  const sessions = new Map<ServerHttp2Session, Promise<void>>();
  server.maxConnections = connections;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
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
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
