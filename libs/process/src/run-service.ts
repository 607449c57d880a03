import type { z } from 'zod';
import { combine, ConfigError } from './config/load-config.ts';
import { createRuntime, type StoreNeeds } from './create-runtime.ts';
import type { Migrations } from '@tessera/stores';
import type { Runtime } from './runtime.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Logger } from '@tessera/telemetry';
import { processConfig, type ProcessConfig } from './config/settings-of-every-process.ts';
import {
  peerTarget,
  rpcConfig,
  rpcCredentials,
  type PeerName,
  type RpcConfig,
} from './config/rpc-settings.ts';
import { runProcess } from './run-process.ts';
import { maintainSchemas } from './schemas.ts';
import { serve, type BuiltService, type CallerName, type RemoteService } from '@tessera/rpc';

/** The services that a process calls, each opened when it is first asked for. */
export type Peers = (name: PeerName) => RemoteService;

/** The service's own settings, and those of every process that is called. */
type Settings<S extends z.ZodObject> = z.infer<S> & ProcessConfig & RpcConfig;

export interface ServiceProcess<S extends z.ZodObject> {
  readonly name: CallerName;
  /** The service's own settings. */
  readonly config: S;
  readonly environment: Record<string, string | undefined>;
  readonly stores: StoreNeeds;
  /** Absent for a service without a schema. */
  readonly migrations?: Migrations;
  build(config: Settings<S>, peers: Peers, runtime: Runtime): BuiltService;
  /** What else the process does once it serves. */
  serving?(built: BuiltService, config: Settings<S>, runtime: Runtime, lifecycle: Lifecycle): Promise<void>;
}

/**
 * The process of one service in the split topology: stores, migrations, peers, the service itself, its gRPC listener.
 */
export async function runService<S extends z.ZodObject>(process: ServiceProcess<S>): Promise<void> {
  const { name, stores: needs, migrations } = process;
  await runProcess({
    name,
    config: combine(processConfig, rpcConfig, process.config),
    environment: process.environment,
    start: async ({ config: settings, log, lifecycle }) => {
      const all = settings as unknown as Settings<S>;
      const runtime = await createRuntime({ name, config: all, log, lifecycle, needs });
      if (migrations !== undefined) await maintainSchemas([migrations], all, runtime, lifecycle);
      const peers = await connectPeers(all, name, log, lifecycle);
      const built = process.build(all, peers, runtime);
      lifecycle.onClose(async () => built.close());
      lifecycle.check(name, async () => built.ready());
      const server = await serve(built, {
        host: all.TESSERA_RPC_HOST,
        port: all.TESSERA_RPC_PORT,
        credentials: rpcCredentials(all),
        log,
        drainMs: all.TESSERA_DRAIN_TIMEOUT * 1000,
      });
      lifecycle.onDrain(async () => server.drain());
      log.info({ host: server.host, port: server.port }, 'serving calls');
      await process.serving?.(built, all, runtime, lifecycle);
    },
  });
}

/**
 * Clients of the services in `TESSERA_PEERS`; closed with the process, which is not ready until each has answered once.
 */
export async function connectPeers(
  config: RpcConfig,
  as: CallerName,
  log: Logger,
  lifecycle: Lifecycle,
): Promise<Peers> {
  const { openRemoteService } = await import('@tessera/rpc/remote');
  const credentials = rpcCredentials(config);
  const connected = new Map<PeerName, RemoteService>();
  return (name) => {
    const known = connected.get(name);
    if (known !== undefined) return known;
    const target = peerTarget(config, name);
    if (target === undefined)
      throw new ConfigError([`TESSERA_PEERS does not say where ${name} is: add ${name}=host:port.`]);
    const peer = openRemoteService({ target, as, credentials, peer: name, log });
    lifecycle.check(name, async () => peer.answered());
    lifecycle.onClose(async () => peer.close());
    connected.set(name, peer);
    return peer;
  };
}
