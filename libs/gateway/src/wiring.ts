import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { watchTenantIssuers } from '@tessera/directory-client';
import { createPlaces } from '@tessera/outbound';
import { createLimiter } from '@tessera/stores';
import { metrics } from '@tessera/telemetry';
import { rootCall, type BuiltService } from '@tessera/rpc';
import { ulid } from '@tessera/kit';
import { collidesWithServedPath, sentJwk, signingAlgorithmNames } from '@tessera/oauth';
import { type Runtime } from '@tessera/process';
import { loadTemplates } from '@tessera/pages';
import type { GatewayConfig } from './config.ts';
import type { Gateway, GatewayPeers } from './gateway.ts';
import { createDeliveryModes } from './issuer/delivery-modes.ts';
import { hostFilter, issuerRule } from './issuer/issuer-rule.ts';
import { createKeySet, createKeySets, type KeySet } from './issuer/key-set.ts';
import { createRelatedOrigins } from './issuer/related-origins.ts';
import { createIssuerRouter } from './issuer/issuer-router.ts';
import { loadLanguages } from '@tessera/languages';
import { createTenantLooks } from './pages/looks/tenant-looks.ts';
import { boundedPeers } from './server/bounded-calls.ts';
import { createServer, type ServerOptions } from './server/http-server.ts';

/** The gateway serves HTTP instead of calls between services. */
export interface GatewayService extends BuiltService {
  readonly app: FastifyInstance;
  /**
   * Reads the list of tenant issuers, then starts to accept connections; resolves with the URL it listens on. If the
   * directory is unavailable, every request is answered with 503 until the list was read.
   */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
}

export type GatewayOptions = ServerOptions;

/** The templates of the pages. */
const views = fileURLToPath(new URL('../views/', import.meta.url));

/** Deadline for fetching the keys and modes that discovery documents contain, and the looks of pages. */
const documentTimeoutMs = 1_000;

/** All the wiring of the gateway. */
export function buildGateway(
  config: GatewayConfig,
  peers: GatewayPeers,
  runtime: Runtime,
  options: GatewayOptions = {},
): GatewayService {
  const { clock, log, random, redis } = runtime;
  const fetchKeys = async (tenantId: string) =>
    fetchPublicKeys(peers, runtime, tenantId, issuers.declaredBy(tenantId));
  /** One after the other: each issuer may get its first keys, which takes `keys` a while. */
  const announce = async (tenantIds: readonly string[]) => {
    for (const tenantId of tenantIds)
      await fetchKeys(tenantId).catch((error: unknown) => {
        log.debug({ err: error, tenantId }, 'cannot announce the signing algorithms that resources declare');
      });
  };
  const keySets = createKeySets((tenantId) => createKeySet({ fetch: () => fetchKeys(tenantId), clock, log }));
  const unmeasure = measureKeySet(keySets.shared);
  const issuers = watchTenantIssuers({
    directory: peers.directory,
    runtime,
    // So that a key is in every key set when the first token needs it.
    onDeclared: (tenantIds) => void announce(tenantIds),
  });
  const deliveryModes = createDeliveryModes({
    fetch: async () =>
      (await peers.backchannel.getDeliveryModes({}, rootCall(ulid(clock, random), documentTimeoutMs))).modes,
    clock,
    log,
  });
  const gateway: Gateway = {
    config,
    peers: boundedPeers(peers, config.TESSERA_DATABASE_STATEMENT_TIMEOUT),
    runtime,
    keySets,
    deliveryModes,
    relatedOrigins: createRelatedOrigins({
      fetch: async () =>
        peers.directory.listTenantIssuers({}, rootCall(ulid(clock, random), documentTimeoutMs)),
      clock,
    }),
    issuer: issuerRule(config.TESSERA_ISSUER, config.TESSERA_ALLOWED_HOSTS),
    tenants: createIssuerRouter({
      current: () => issuers.current(),
      endpointsOf: (tenantId) => issuers.endpointsOf(tenantId),
      declaredUseAt: (tenantId) => issuers.declaredUseAt(tenantId),
      sharedIssuer: config.TESSERA_ISSUER,
      isOtherName: hostFilter(config.TESSERA_ALLOWED_HOSTS),
      isSharedPath: (path) => collidesWithServedPath(path),
    }),
    places: createPlaces(clock),
    limiter: createLimiter({ redis, clock, log, prefix: 'gateway' }),
    templates: loadTemplates(views),
    languages: loadLanguages(config.TESSERA_MESSAGES_DIR),
    looks: createTenantLooks({
      fetch: async (tenantId) =>
        peers.directory.getTenantLooks({ tenantId }, rootCall(ulid(clock, random), documentTimeoutMs)),
      clock,
      log,
    }),
  };
  const app = createServer(gateway, options);
  app.addHook('onReady', () => issuers.reload());
  return {
    name: 'gateway',
    routes: [],
    app,
    ready: async () => {
      await issuers.get();
      await keySets.shared.document();
    },
    listen: ({ host, port }) => app.listen({ host, port, backlog: 4_096 }),
    async close() {
      try {
        await app.close();
      } finally {
        unmeasure();
        await issuers.close();
      }
    },
  };
}

async function fetchPublicKeys(
  { keys }: GatewayPeers,
  { clock, random }: Runtime,
  tenantId: string,
  declared: readonly string[],
) {
  const asked = { tenantId, algorithms: [...signingAlgorithmNames], declared: [...declared] };
  const answer = await keys.getPublicKeys(asked, rootCall(ulid(clock, random), documentTimeoutMs));
  return answer.keys.map(sentJwk);
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
