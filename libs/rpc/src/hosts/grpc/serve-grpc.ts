import { experimental, Server, ServerCredentials } from '@grpc/grpc-js';
import type { ServerInterceptor, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { lookup } from 'node:dns/promises';
import type { Logger } from 'pino';
import { within } from '@tessera/kit';
import { methodName } from '@tessera/telemetry';
import { createCallerCheck } from './caller-check-interceptor.ts';
import { accessTo, accessToDescription, type Access } from '../../access/check-caller.ts';
import type { BuiltService } from '../../call.ts';
import { watchCertificates } from '../../client/channel/certificates.ts';
import { isLoopback, warnNotReloaded, warnOfTrust, type RpcServerCredentials } from '../../credentials.ts';
import { grpcService } from './grpc-service.ts';
import { createHealthStatus, type HealthStatus } from './health.ts';
import { reflectionOf } from '../reflection.ts';

export interface ServeOptions {
  /** Address to listen on; a name is resolved once. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly credentials: RpcServerCredentials;
  /**
   * `optional`: others than our processes connect too. Under `mtls` connections without a certificate are then taken,
   * for calls with an access token.
   */
  readonly certificates?: 'required' | 'optional';
  readonly log: Logger;
  /** Largest message taken or sent, in bytes; 4 MiB by default. */
  readonly maxMessageBytes?: number;
  /** How long `drain` waits for calls to end before it cuts them, in milliseconds; 10 s by default. */
  readonly drainMs?: number;
  /** Milliseconds between two checks of `built.ready()`; 5 s by default, a fifth of it while not ready. */
  readonly readinessIntervalMs?: number;
  /** Age at which a connection is asked to leave, so that clients look up addresses again; 120 s by default. */
  readonly connectionAgeMs?: number;
}

export interface RpcServer {
  readonly host: string;
  readonly port: number;
  /** Not serving, no new connections, calls end or are cut after `drainMs`. Does not close the service itself. */
  drain(): Promise<void>;
}

/**
 * Serves the routes of a service over gRPC, together with `grpc.health.v1` and server reflection, which are open to
 * every authenticated caller. Methods are open to those alone that their proto names.
 * @throws Error if a method names no caller, the address cannot be taken, the certificates are not usable, or `none`
 * would be reachable by others
 */
export async function serve(built: BuiltService, options: ServeOptions): Promise<RpcServer> {
  const { log, credentials, port, drainMs = 10_000 } = options;
  const { address: host } = await lookup(options.host);
  if (credentials.kind === 'none' && !isLoopback(host)) {
    throw new Error(
      `internal calls without credentials are served on a loopback address only, not on ${options.host}`,
    );
  }
  warnOfTrust(credentials, log);
  const access = new Map<string, Access>();
  const callerCheck = createCallerCheck({ credentials, access, log });
  const server = createServer(options, callerCheck.interceptor);
  const health = createHealthStatus(built, log, options.readinessIntervalMs ?? 5_000);
  addServices(server, built, health, log, access);
  const address = host.includes(':') ? `[${host}]` : host;
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${address}:${port}`, serverCredentials(options), (error, boundPort) => {
      if (error === null) resolve(boundPort);
      else reject(error);
    });
  });
  await health.follow();
  let draining: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    health.stop();
    const ended = new Promise<void>((resolve) => {
      server.tryShutdown(() => resolve());
    });
    callerCheck.endStreams();
    await within(drainMs, ended).catch(() => undefined);
    server.forceShutdown();
  };
  return { host, port: bound, drain: () => (draining ??= drain()) };
}

function createServer(
  { maxMessageBytes = 4 * 1024 * 1024, connectionAgeMs = 120_000 }: ServeOptions,
  callerCheck: ServerInterceptor,
): Server {
  return new Server({
    interceptors: [callerCheck],
    'grpc.max_connection_age_ms': connectionAgeMs,
    'grpc.max_connection_age_grace_ms': 30_000,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.max_concurrent_streams': 1_000,
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    // Channelz stays on: without it `forceShutdown` leaves connections open.
  });
}

function serverCredentials({ credentials, certificates = 'required', log }: ServeOptions): ServerCredentials {
  if (credentials.kind !== 'mtls') return ServerCredentials.createInsecure();
  const files = watchCertificates(credentials, (error) => warnNotReloaded(log, credentials, error));
  return experimental.createCertificateProviderServerCredentials(files, files, certificates === 'required');
}

/** Adds everything the server offers, and notes who may call it. */
function addServices(
  server: Server,
  built: BuiltService,
  health: HealthStatus,
  log: Logger,
  access: Map<string, Access>,
): void {
  for (const route of built.routes) {
    const { definition, implementation } = grpcService(route, log);
    server.addService(definition, implementation);
    for (const method of route.service.methods) {
      access.set(`/${methodName(method)}`, accessTo(route, method));
    }
  }
  const toDescription = accessToDescription(built.routes);
  const forEveryone = {
    addService: (definition: ServiceDefinition, implementation: UntypedServiceImplementation): void => {
      server.addService(definition, implementation);
      for (const { path } of Object.values(definition)) access.set(path, toDescription);
    },
  };
  health.implementation.addToServer(forEveryone);
  reflectionOf(built.routes.map((route) => route.service)).addToServer(forEveryone);
}
