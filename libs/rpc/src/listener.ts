import { constants } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { CertificateFiles } from './certificate-files.ts';
import type { Connections } from './connections.ts';
import type { RpcCredentials } from './credentials.ts';
import { isLoopback } from './credentials.ts';
import { identifyByClaim, identifyByToken } from './gate.ts';
import type { AuthenticatedPeer } from './gate.ts';
import { certified } from './identity.ts';
import type { CertifiedName } from './identity.ts';

/** What accepts connections for a server, proves who is at the other end, and hands them on. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Stops accepting; connections stay. */
  close(): void;
  /** Resolves when the last connection is gone. */
  ended(): Promise<void>;
  /** Cuts the connections that are left, also those that never finished their handshake. */
  cut(): void;
}

export interface ListenerOptions {
  readonly connections: Connections;
  readonly host: string;
  readonly port: number;
  readonly credentials: RpcCredentials;
  /** Under `mtls`: whether a connection without a certificate is taken too. One with a bad certificate never is. */
  readonly certificates: 'required' | 'optional';
  readonly log: Logger;
}

const handshakeTimeoutMs = 10_000;

/**
 * Who is at the other end is established once per connection where a certificate says it, else call by call.
 * @throws Error when `none` is asked for on an address that others can reach
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { address } = await lookup(options.host);
  const { credentials } = options;
  if (credentials.kind === 'none' && !isLoopback(address)) {
    throw new Error(
      `internal calls without credentials are served on a loopback address only, not on ${options.host}`,
    );
  }
  const accepting =
    credentials.kind === 'mtls' ? acceptTls(options, credentials) : acceptPlain(options, credentials);
  const sockets = new Set<Socket>();
  let onEmpty: (() => void) | undefined;
  accepting.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) onEmpty?.();
    });
  });
  await new Promise<void>((resolve, reject) => {
    accepting.once('error', reject);
    accepting.listen({ host: address, port: options.port }, () => {
      accepting.off('error', reject);
      resolve();
    });
  });
  accepting.on('error', (error) => options.log.error({ error }, 'listener failed'));
  const bound = accepting.address() as AddressInfo;
  const close = (): void => void accepting.close();
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const ended = (): Promise<void> =>
    new Promise((resolve) => {
      if (sockets.size === 0) resolve();
      else onEmpty = resolve;
    });
  return { host: bound.address, port: bound.port, close, ended, cut };
}

function acceptPlain(
  options: ListenerOptions,
  credentials: Exclude<RpcCredentials, { kind: 'mtls' }>,
): NetServer {
  const identify = credentials.kind === 'token' ? identifyByToken(credentials.token) : identifyByClaim;
  return createServer({ noDelay: true }, (socket: Socket) => options.connections.add(socket, identify));
}

function acceptTls(
  options: ListenerOptions,
  credentials: Extract<RpcCredentials, { kind: 'mtls' }>,
): NetServer {
  const files = new CertificateFiles(credentials, options.log);
  const server = createTlsServer(
    {
      ...files.current,
      ALPNProtocols: ['h2'],
      requestCert: true,
      rejectUnauthorized: options.certificates === 'required',
      minVersion: 'TLSv1.3',
      // A resumed session would outlive the authority that vouched for it.
      secureOptions: constants.SSL_OP_NO_TICKET,
      handshakeTimeout: handshakeTimeoutMs,
      noDelay: true,
    },
    (socket: TLSSocket) => {
      socket.on('error', (error) => options.log.debug({ error }, 'connection failed'));
      const certificate = socket.getPeerX509Certificate();
      if (certificate !== undefined && !socket.authorized) {
        return void socket.destroy(socket.authorizationError);
      }
      const peer = certificate && peerOf(certified(certificate.subjectAltName, credentials.trustDomain));
      options.connections.add(socket, () => peer);
    },
  );
  server.on('tlsClientError', (error, socket) => {
    options.log.warn({ error, peer: socket.remoteAddress }, 'TLS handshake refused');
    // A bare TLS server leaves the connection open, and with it a file descriptor.
    socket.destroy();
  });
  files.onChange((set) => {
    server.setSecureContext({ ...set, minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET });
  });
  server.on('close', () => files.close());
  return server;
}

/** A name that is one of our processes' says it all; of others it says which one. */
function peerOf(proof: CertifiedName | undefined): AuthenticatedPeer {
  if (proof === undefined) return { caller: undefined };
  const { caller, name } = proof;
  return caller === 'introspector' ? { caller, principal: { kind: 'certificate', id: name } } : { caller };
}
