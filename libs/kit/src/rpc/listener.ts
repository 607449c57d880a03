import { constants } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { experimental, ServerCredentials } from '@grpc/grpc-js';
import type { ConnectionInjector, Server, ServerInterceptor } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { CertificateFiles } from './certificate-files.ts';
import type { RpcCredentials } from './credentials.ts';
import { isLoopback } from './credentials.ts';
import { identifyByClaim, identifyByToken } from './gate.ts';
import type { Identify, AuthenticatedPeer } from './gate.ts';
import { certified } from './identity.ts';
import type { CertifiedName } from './identity.ts';

/** What accepts connections for a server, proves who is at the other end, and hands them to grpc-js. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Stops accepting; connections stay. */
  close(): void;
  /** Resolves when the last connection is gone: grpc-js itself does not wait for those it was handed. */
  ended(): Promise<void>;
  /** Cuts the connections that are left: grpc-js itself forgets them when channelz is off. */
  cut(): void;
}

export interface ListenerOptions {
  readonly server: Server;
  readonly host: string;
  readonly port: number;
  readonly credentials: RpcCredentials;
  /** Under `mtls`: whether a connection without a certificate is taken too. One with a bad certificate never is. */
  readonly certificates: 'required' | 'optional';
  readonly gateFor: (identify: Identify) => ServerInterceptor;
  readonly log: Logger;
}

const handshakeTimeoutMs = 10_000;

/**
 * Connections are accepted here and injected, because grpc-js shows a peer's certificate per call only, at the price
 * of decoding it each time: so the peer is established once per connection.
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
  const connections = new Set<Socket>();
  let onEmpty: (() => void) | undefined;
  accepting.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => {
      connections.delete(socket);
      if (connections.size === 0) onEmpty?.();
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
    for (const connection of connections) connection.destroy();
  };
  const ended = (): Promise<void> =>
    new Promise((resolve) => {
      if (connections.size === 0) resolve();
      else onEmpty = resolve;
    });
  return { host: bound.address, port: bound.port, close, ended, cut };
}

function acceptPlain(
  options: ListenerOptions,
  credentials: Exclude<RpcCredentials, { kind: 'mtls' }>,
): NetServer {
  const identify = credentials.kind === 'token' ? identifyByToken(credentials.token) : identifyByClaim;
  const injector = injectorFor(options, identify);
  return createServer({ noDelay: true }, (socket: Socket) => injector.injectConnection(socket));
}

function acceptTls(
  options: ListenerOptions,
  credentials: Extract<RpcCredentials, { kind: 'mtls' }>,
): NetServer {
  const files = new CertificateFiles(credentials, options.log);
  // One injector for each name that certificates prove: as many as the authority names callers.
  const injectors = new Map<string | undefined, ConnectionInjector>();
  const injectorOf = (proof: CertifiedName | 'nameless' | 'none'): ConnectionInjector => {
    const key = typeof proof === 'string' ? proof : `name ${proof.name}`;
    const injector = injectors.get(key) ?? injectorFor(options, () => peerOf(proof));
    injectors.set(key, injector);
    return injector;
  };
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
      if (certificate === undefined) return injectorOf('none').injectConnection(socket);
      if (!socket.authorized) return void socket.destroy(socket.authorizationError);
      injectorOf(
        certified(certificate.subjectAltName, credentials.trustDomain) ?? 'nameless',
      ).injectConnection(socket);
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
function peerOf(proof: CertifiedName | 'nameless' | 'none'): AuthenticatedPeer | undefined {
  if (proof === 'none') return undefined;
  if (proof === 'nameless') return { caller: undefined };
  const { caller, name } = proof;
  return caller === 'introspector' ? { caller, principal: { kind: 'certificate', id: name } } : { caller };
}

function injectorFor(options: ListenerOptions, identify: Identify): ConnectionInjector {
  return options.server.createConnectionInjector(
    experimental.createServerCredentialsWithInterceptors(ServerCredentials.createInsecure(), [
      options.gateFor(identify),
    ]),
  );
}
