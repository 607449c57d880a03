import { auditRoute } from '@tessera/audit';
import { repeat } from '@tessera/kit';
import { metrics } from '@tessera/telemetry';
import { route } from '@tessera/rpc';
import type { BuiltService } from '@tessera/rpc';
import { refuseWhileClockIsWrong, type Runtime } from '@tessera/process';
import type { Migrations } from '@tessera/stores';
import { KeysService as AdministrationService } from '@tessera/proto-gen/admin-keys';
import { KeysService } from '@tessera/proto-gen/keys';
import { keyCalls } from './key-calls.ts';
import { retentionSeconds, type KeysConfig } from './config.ts';
import { createHeldKeys } from './rings/held-keys.ts';
import { createIssuerKeys, type IssuerKeys } from './rings/issuer-keys.ts';
import { createKeyRings } from './rings/key-rings.ts';
import { aesKeyWrapper, tenantKeyWrapper } from './rings/key-wrapper.ts';
import { keysHandlers } from './service.ts';
import { createSigner } from './signer.ts';
import { postgresKeyStore, postgresTenantKeyStores } from './store.postgres.ts';

/** The migrations of the schema `keys`, to be run before the service is built. */
export const migrations: Migrations = { schema: 'keys', directory: new URL('../sql/', import.meta.url) };

/** How long gateways serve their copy of a key set. */
const gatewayCopySeconds = 1;

export interface KeysOptions {
  /**
   * Whether the service reloads the keys periodically and rotates them on schedule. If not, `ready` loads them once and
   * they are only rotated on request: for a command, whose settings may differ from those of the running processes.
   */
  readonly followsSchedule?: boolean;
}

/** Builds the keys service and starts loading its keys. The very first process generates the first keys. */
export function buildKeys(
  config: KeysConfig,
  _peers: object,
  runtime: Runtime,
  { followsSchedule = true }: KeysOptions = {},
): BuiltService {
  const wrapper = aesKeyWrapper(config.TESSERA_KEYS_KEK, runtime.random);
  const lifeCycle = {
    schedule: {
      rotationPeriod: config.TESSERA_KEYS_ROTATION_PERIOD,
      publicationLead: config.TESSERA_KEYS_PUBLISH_AHEAD,
    },
    announcement: config.TESSERA_KEYS_RELOAD_INTERVAL + gatewayCopySeconds,
    followsSchedule,
    retention: retentionSeconds,
    runtime,
  };
  const stored = { database: runtime.database, runtime, retention: retentionSeconds };
  const shared = createIssuerKeys({
    ...lifeCycle,
    store: postgresKeyStore(stored),
    wrapper,
  });
  const intervalMs = config.TESSERA_KEYS_RELOAD_INTERVAL * 1000;
  const storeOf = postgresTenantKeyStores(stored);
  const rings = createKeyRings({
    shared,
    keysOf: (tenantId) =>
      createIssuerKeys({
        ...lifeCycle,
        store: storeOf(tenantId),
        wrapper: tenantKeyWrapper(wrapper, tenantId),
      }),
    reloadMs: intervalMs,
    runtime,
  });
  const loadShared = async () => {
    await shared.refresh();
    await shared.advance();
  };
  const reloads = followsSchedule
    ? repeat(loadShared, {
        pauseMs: intervalMs,
        onError(err, failures) {
          if (failures === 1)
            runtime.log.error({ err }, 'cannot load the signing keys; continuing with those in memory');
        },
        onRecovery: () => runtime.log.info('signing keys reloaded after a failure'),
      })
    : undefined;
  const stopExport = exportAges(shared);
  const built: BuiltService = {
    name: 'keys',
    routes: [
      route(KeysService, keysHandlers(rings, createSigner())),
      route(AdministrationService, keyCalls(rings)),
      auditRoute(runtime.database, 'keys'),
    ],
    async ready() {
      if (!shared.isUsable()) await loadShared();
    },
    async close() {
      stopExport();
      await Promise.all([reloads?.close(), rings.close()]);
    },
  };
  return refuseWhileClockIsWrong(built, runtime);
}

/**
 * Reads the stored keys of the shared issuer as a process does, and stores nothing. Rejects if they were wrapped under
 * another key-encryption key; passes if there are none yet.
 */
export async function requireKeyEncryptionKey(
  config: KeysConfig,
  { database, ...runtime }: Pick<Runtime, 'database' | 'clock' | 'log' | 'random'>,
): Promise<void> {
  const wrapper = aesKeyWrapper(config.TESSERA_KEYS_KEK, runtime.random);
  const held = createHeldKeys({ wrapper, leastLead: 0, retention: retentionSeconds, runtime });
  await held.adopt(await postgresKeyStore({ database, runtime, retention: retentionSeconds }).load());
}

function exportAges(keys: IssuerKeys): () => void {
  const options = {
    name: 'tessera_signing_key_age_seconds',
    help: 'Time since the signing key of each algorithm became active, and since the database last confirmed it.',
    labels: ['algorithm', 'since'],
  };
  return metrics.gauge(options, () => {
    return keys.ages().flatMap(({ algorithm, ...ages }) =>
      (['active', 'confirmed'] as const).map((since) => ({
        labels: { algorithm, since },
        value: ages[since],
      })),
    );
  });
}
