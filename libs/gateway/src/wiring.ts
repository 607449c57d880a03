import type { FastifyInstance } from 'fastify';
import { createLimiter } from '@tessera/stores';
import { metrics } from '@tessera/telemetry';
import { rootCall, type BuiltService } from '@tessera/rpc';
import { ulid } from '@tessera/kit';
import { type Runtime } from '@tessera/process';
import { antiForgery } from './pages/anti-forgery.ts';
import type { GatewayConfig } from './config.ts';
import type { Gateway, GatewayPeers } from './gateway.ts';
import { createDeliveryModes } from './endpoints/delivery-modes.ts';
import { issuerRule } from './http/issuer.ts';
import { createKeySet, type KeySet } from './endpoints/key-set.ts';
import { loadTemplates } from './pages/templates.ts';
import { createServer, type ServerOptions } from './http/server.ts';

/** The gateway serves HTTP instead of calls between services. */
export interface GatewayService extends BuiltService {
  readonly app: FastifyInstance;
  /** Starts to accept connections; resolves with the URL it listens on. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
}

export type GatewayOptions = ServerOptions;

/** Deadline of what a document is made of: whoever asks for it waits no longer while its owner is away. */
const documentTimeoutMs = 1_000;

/** All the wiring of the gateway. */
export function buildGateway(
  config: GatewayConfig,
  peers: GatewayPeers,
  runtime: Runtime,
  options: GatewayOptions = {},
): GatewayService {
  const { clock, log, random, redis } = runtime;
  const keySet = createKeySet({
    fetch: async () =>
      (await peers.keys.getPublicKeys({}, rootCall(ulid(clock, random), documentTimeoutMs))).keys,
    clock,
    log,
  });
  const unmeasure = measureKeySet(keySet);
  const deliveryModes = createDeliveryModes({
    fetch: async () =>
      (await peers.backchannel.getDeliveryModes({}, rootCall(ulid(clock, random), documentTimeoutMs))).modes,
    clock,
    log,
  });
  const gateway: Gateway = {
    config,
    peers,
    runtime,
    keySet,
    deliveryModes,
    issuer: issuerRule(config.TESSERA_ISSUER, config.TESSERA_ALLOWED_HOSTS),
    limiter: createLimiter({ redis, clock, log, prefix: 'gateway' }),
    templates: loadTemplates(),
    antiForgery,
  };
  const app = createServer(gateway, options);
  return {
    name: 'gateway',
    routes: [],
    app,
    ready: async () => {
      await keySet.document();
    },
    listen: ({ host, port }) => app.listen({ host, port }),
    close: () => app.close().finally(unmeasure),
  };
}

function measureKeySet(keySet: KeySet): () => void {
  const options = {
    name: 'tessera_key_set_age_seconds',
    help: 'Since the key set that the gateway publishes was fetched from keys.',
  };
  return metrics.gauge(options, () => {
    const value = keySet.ageSeconds();
    return value === undefined ? [] : [{ value }];
  });
}
