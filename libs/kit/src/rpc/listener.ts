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
import { certifiedCaller } from './identity.ts';

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
  // One injector for each name a certificate can prove: a handful.
  const injectors = new Map<AuthenticatedPeer['caller'], ConnectionInjector>();
  const server = createTlsServer(
    {
      ...files.current,
      ALPNProtocols: ['h2'],
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
      // A resumed session would outlive the authority that vouched for it.
      secureOptions: constants.SSL_OP_NO_TICKET,
      handshakeTimeout: handshakeTimeoutMs,
      noDelay: true,
    },
    (socket: TLSSocket) => {
      socket.on('error', (error) => options.log.debug({ error }, 'connection failed'));
      const caller = certifiedCaller(socket.getPeerX509Certificate()?.subjectAltName);
      const injector = injectors.get(caller) ?? injectorFor(options, () => ({ caller }));
      injectors.set(caller, injector);
      injector.injectConnection(socket);
    },
  );
  server.on('tlsClientError', (error, socket) => {
    options.log.warn({ error, peer: socket.remoteAddress }, 'TLS handshake refused');
  });
  files.onChange((set) => {
    server.setSecureContext({ ...set, minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET });
  });
  server.on('close', () => files.close());
  return server;
}

function injectorFor(options: ListenerOptions, identify: Identify): ConnectionInjector {
  return options.server.createConnectionInjector(
    experimental.createServerCredentialsWithInterceptors(ServerCredentials.createInsecure(), [
      options.gateFor(identify),
    ]),
  );
}
