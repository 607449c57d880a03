import type { Server } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BuiltService } from './call.ts';
import { Connections } from './connections.ts';
import { warnOfTrust, type RpcCredentials } from './credentials.ts';
import type { ServedMethod } from './gate.ts';
import { libraryMethods } from './library-service.ts';
import { listen } from './listener.ts';
import type { Listener } from './listener.ts';
import { OpenStreams } from './open-streams.ts';
import { Readiness } from './readiness.ts';
import { reflectionOf } from './reflection.ts';
import { servedMethods } from './served-methods.ts';

export interface ServeOptions {
  /** Address to listen on; a name is resolved once. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly credentials: RpcCredentials;
  /**
   * `optional`: others than our processes connect too. Under `mtls` connections without a certificate are then taken, for calls
   * that prove themselves by an access token.
   */
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

/**
 * How many streams a caller of ours may reset. It resets one for each call that runs out of time, and while a store is slow
 * that may be all of them: a limit that it can reach would end its good calls too. Where others connect, Node's own limit
 * holds (1,000, and 33 a second): streams that are opened only to be reset are work that costs its sender nothing
 * (CVE-2023-44487).
 */
const resetsOfOurs = { burst: 100_000, perSecond: 10_000 };

/**
 * Serves the routes of a service over gRPC, beside `grpc.health.v1` and server reflection, which are open to every
 * authenticated peer. Methods are open to the callers on their list alone.
 * @throws Error when the address cannot be taken, the certificates are not good, or `none` would be reachable by others
 */
export async function serve(built: BuiltService, options: ServeOptions): Promise<RpcServer> {
  const { log, maxMessageBytes = 4 * 1024 * 1024, connectionAgeMs = 120_000 } = options;
  const readiness = new Readiness(built, { log, intervalMs: options.readinessIntervalMs ?? 5_000 });
  const open = new OpenStreams();
  const methods = methodsOf(built, readiness, log, open);
  const { host, port, credentials, certificates = 'required' } = options;
  const resets = certificates === 'required' ? resetsOfOurs : undefined;
  const connections = new Connections({ methods, maxMessageBytes, ageMs: connectionAgeMs, resets, log });
  warnOfTrust(credentials, log);
  const listener = await listen({ connections, host, port, credentials, certificates, log });
  await readiness.follow();
  let draining: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    readiness.stop();
    listener.close();
    open.drain();
    await shutDown(connections, listener, options.drainMs ?? 10_000);
  };
  return { host: listener.host, port: listener.port, drain: () => (draining ??= drain()) };
}

/** Everything the server offers, by path. */
function methodsOf(
  built: BuiltService,
  readiness: Readiness,
  log: Logger,
  open: OpenStreams,
): Map<string, ServedMethod> {
  const methods = built.routes.flatMap((route) => servedMethods(route, log, open));
  const libraries: Pick<Server, 'addService'> = {
    addService: (service, implementation) =>
      void methods.push(...libraryMethods(service, implementation, open)),
  };
  readiness.health.addToServer(libraries);
  reflectionOf(built.routes.map((route) => route.service)).addToServer(libraries);
  return new Map(methods.map((method) => [method.path, method]));
}

/** Asks every client to leave, lets the calls that run end, and cuts what is left. */
async function shutDown(connections: Connections, listener: Listener, drainMs: number): Promise<void> {
  connections.close();
  const enough = new AbortController();
  const bound = sleep(drainMs, undefined, { signal: enough.signal }).catch(() => undefined);
  await Promise.race([listener.ended(), bound]);
  enough.abort();
  connections.cut();
  listener.cut();
}
