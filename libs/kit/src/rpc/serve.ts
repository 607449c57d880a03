import { Server } from '@grpc/grpc-js';
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { Code, ConnectError } from '@connectrpc/connect';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BuiltService } from './call.ts';
import { warnOfTrust, type RpcCredentials } from './credentials.ts';
import { gate } from './gate.ts';
import type { Access } from './gate.ts';
import { listen } from './listener.ts';
import type { Listener } from './listener.ts';
import { Readiness } from './readiness.ts';
import { reflectionOf } from './reflection.ts';
import type { ServedCall } from './served-call.ts';
import { methodPath, serverDefinition } from './server-definition.ts';

export interface ServeOptions {
  /** Address to listen on; a name is resolved once. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly credentials: RpcCredentials;
  /** Under `mtls`: whether connections without a certificate are taken, for calls that prove themselves by an access token. */
  readonly certificates?: 'required' | 'optional';
  readonly log: Logger;
  /** Largest message taken or sent, in bytes; 4 MiB by default. */
  readonly maxMessageBytes?: number;
  /** How long `drain` waits for calls to end before it cuts them, in milliseconds; 10 s by default. */
  readonly drainMs?: number;
  /** Milliseconds between two looks at `built.ready()`; 5 s by default, a fifth of it while not ready. */
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

const keepaliveMs = 30_000;
const keepaliveTimeoutMs = 10_000;
const connectionAgeGraceMs = 30_000;
const maxConcurrentStreams = 1_000;

/**
 * Serves the routes of a service over gRPC, beside `grpc.health.v1` and server reflection, which are open to every
 * authenticated peer. Methods are open to the callers on their list alone.
 * @throws Error when the address cannot be taken, the certificates are not good, or `none` would be reachable by others
 */
export async function serve(built: BuiltService, options: ServeOptions): Promise<RpcServer> {
  const { log, maxMessageBytes = 4 * 1024 * 1024, connectionAgeMs = 120_000 } = options;
  const server = new Server({
    'grpc.max_connection_age_ms': connectionAgeMs,
    'grpc.max_connection_age_grace_ms': connectionAgeGraceMs,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
    'grpc.max_concurrent_streams': maxConcurrentStreams,
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.enable_channelz': 0,
  });
  const readiness = new Readiness(built, { log, intervalMs: options.readinessIntervalMs ?? 5_000 });
  const open = new Set<ServedCall>();
  const access = addServices(server, built, readiness, log, open);
  const { host, port, credentials } = options;
  warnOfTrust(credentials, log);
  const listener = await listen({
    server,
    host,
    port,
    credentials,
    certificates: options.certificates ?? 'required',
    log,
    gateFor: (identify) => gate(identify, access, log),
  });
  await readiness.follow();
  let draining: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    readiness.stop();
    listener.close();
    // Streams do not end by themselves; their consumers come back and reach another replica.
    for (const call of open) call.cancel(new ConnectError('the server is shutting down', Code.Unavailable));
    await shutDown(server, listener, options.drainMs ?? 10_000);
  };
  return { host: listener.host, port: listener.port, drain: () => (draining ??= drain()) };
}

/** Adds everything the server offers and returns who may call it. */
function addServices(
  server: Server,
  built: BuiltService,
  readiness: Readiness,
  log: Logger,
  open: Set<ServedCall>,
): Map<string, Access> {
  const access = new Map<string, Access>();
  for (const route of built.routes) {
    const { definition, implementation } = serverDefinition(route, log, open);
    server.addService(definition, implementation);
    for (const method of route.service.methods) {
      const callers = route.allow[method.localName] ?? [];
      access.set(methodPath(route, method), { callers, bearer: route.bearer });
    }
  }
  const forEveryone = openTo(server, access);
  readiness.health.addToServer(forEveryone);
  reflectionOf(built.routes.map((route) => route.service)).addToServer(forEveryone);
  return access;
}

/** The server as a library sees it that adds a service of its own: what it adds is open to every authenticated peer. */
function openTo(server: Server, access: Map<string, Access>): Pick<Server, 'addService'> {
  return {
    addService: (definition: ServiceDefinition, implementation: UntypedServiceImplementation): void => {
      server.addService(definition, implementation);
      for (const { path } of Object.values(definition)) access.set(path, { callers: 'authenticated' });
    },
  };
}

/** Asks every client to leave, lets the calls that run end, and cuts what is left. */
async function shutDown(server: Server, listener: Listener, drainMs: number): Promise<void> {
  server.tryShutdown(() => {});
  const enough = new AbortController();
  const bound = sleep(drainMs, undefined, { signal: enough.signal }).catch(() => undefined);
  await Promise.race([listener.ended(), bound]);
  enough.abort();
  server.forceShutdown();
  listener.cut();
}
