import { createAuditBatch } from '@tessera/audit';
import { createSend } from '@tessera/delivery';
import { createLimiter, startPurge } from '@tessera/stores';
import { route } from '@tessera/rpc';
import type { BuiltService, Client } from '@tessera/rpc';
import { refuseWhileClockIsWrong, type Runtime } from '@tessera/process';
import type { Migrations } from '@tessera/stores';
import { createDirectoryClient } from '@tessera/directory-client';
import type { DirectoryClient } from '@tessera/directory-client';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { createApprovals } from './approval/approval.ts';
import { page, type ApprovalExperiences, type Experience } from './approval/experience.ts';
import { createDeviceAudit } from './audit.ts';
import type { DeviceAudit } from './audit.ts';
import { createBackchannelAuthentications } from './backchannel/backchannel-authentication.ts';
import type { DeviceConfig } from './config.ts';
import { createCallbackEncryption, type CallbackEncryption } from './delivery/callback.ts';
import { startDeliveries, type Deliveries } from './delivery/deliveries.ts';
import { createPushes, noPushes, type Pushes } from './delivery/pushes.ts';
import { createEncryption } from './delivery/encryption.ts';
import type { DeliveryStore } from './delivery/delivery-store.ts';
import { createDeliveryStore } from './delivery/delivery-store.postgres.ts';
import { createDeviceAuthorizations } from './device-authorization/device-authorization.ts';
import type { FailureLimits } from './device-authorization/device-authorization.ts';
import { createPolling } from './polling/polling.ts';
import { createPollSecrets } from './polling/poll-secret.ts';
import { withProcessFailureCounters } from './store/user-code-failures.memory.ts';
import { backchannelHandlers, deviceHandlers } from './service.ts';
import type { DeviceParts } from './service.ts';
import { createClientAdmission } from './start/client-admission.ts';
import type { StartLimits } from './start/client-admission.ts';
import type { GrantStore } from './store/grant-store.ts';
import { createMemoryGrantStore } from './store/grant-store.memory.ts';
import { createDecisionStore } from './store/decision-store.postgres.ts';
import { createRedisGrantStore } from './store/grant-store.redis.ts';
import { createWebhookKeys } from './webhook/keys.ts';
import { createPromptMessage, createWebhookExperience } from './webhook/prompts.ts';
import type { DecisionStore } from './store/decision-store.ts';

/** The schema `device`. Run it before the service is built. */
export const migrations: Migrations = { schema: 'device', directory: new URL('../sql/', import.meta.url) };

export interface DevicePeers {
  readonly directory: Client<typeof DirectoryService>;
}

/** Builds the device service; it watches the directory and removes old decisions from the start. */
export function buildDevice(config: DeviceConfig, peers: DevicePeers, runtime: Runtime): BuiltService {
  const { database, redis, clock, log } = runtime;
  const batch = createAuditBatch({ database, schema: 'device', runtime });
  const limiter = createLimiter({ redis, clock, log, prefix: 'device' });
  const directory = createDirectoryClient({ directory: peers.directory, runtime, limiter });
  const decisions = createDecisionStore(database);
  const deliveryStore = createDeliveryStore(database);
  const purges = [
    startPurge(decisions, { what: 'decisions', log }),
    startPurge(deliveryStore, { what: 'deliveries', log }),
  ];
  const audit = createDeviceAudit(batch, runtime);
  const store =
    redis === undefined
      ? createMemoryGrantStore(clock)
      : withProcessFailureCounters(createRedisGrantStore(redis), clock);
  const notifications = buildNotifications(config, {
    audit,
    directory,
    runtime,
    grants: store,
    store: deliveryStore,
  });
  const experiences: ApprovalExperiences = new Map([
    ['page', page],
    ...(notifications === undefined ? [] : ([['webhook', notifications.webhook]] as const)),
  ]);
  const parts = assemble({
    config,
    peers,
    runtime,
    directory,
    limiter,
    store,
    decisions,
    audit,
    experiences,
    notifications,
  });
  const built: BuiltService = {
    name: 'device',
    routes: [
      route(DeviceAuthorizationService, deviceHandlers(parts)),
      route(BackchannelAuthenticationService, backchannelHandlers(parts)),
    ],
    async ready() {
      await database.query({ name: 'device.ready', text: 'SELECT tenant_id FROM device.decision LIMIT 0' });
      await redis?.call('PING');
    },
    async close() {
      await Promise.all([...purges.map((purge) => purge.close()), notifications?.deliveries.close()]);
      await directory.close();
      await batch.close();
    },
  };
  return refuseWhileClockIsWrong(built, runtime);
}

/** The parts that call clients and tenants' notification systems. */
interface Notifications {
  readonly webhook: Experience;
  readonly encryption: CallbackEncryption;
  readonly deliveries: Deliveries;
  readonly pushes: Pushes;
}

/** Without a key nothing can be signed or encrypted: neither the webhook nor the delivery modes are offered. */
function buildNotifications(
  config: DeviceConfig,
  given: {
    readonly audit: DeviceAudit;
    readonly directory: DirectoryClient;
    readonly runtime: Runtime;
    readonly grants: GrantStore;
    readonly store: DeliveryStore;
  },
): Notifications | undefined {
  const { TESSERA_WEBHOOK_KEY: key, TESSERA_WEBHOOK_ALLOW_PRIVATE: allowPrivate } = config;
  if (key === undefined) return undefined;
  const { audit, directory, runtime, grants, store } = given;
  const keys = createWebhookKeys(key);
  const send = createSend({ allowPrivate });
  const encryption = createCallbackEncryption(createEncryption(keys.encryptionKey, runtime.random));
  const promptMessage = createPromptMessage({ keys, runtime, grants, directory });
  const deliveries = startDeliveries({
    store,
    encryption,
    promptMessage,
    grants,
    send,
    directory,
    audit,
    log: runtime.log,
  });
  return {
    webhook: createWebhookExperience({ keys, runtime, store, wake: () => deliveries.wake() }),
    encryption,
    deliveries,
    pushes: createPushes({ store, encryption, deliveries }),
  };
}

function assemble(given: {
  readonly config: DeviceConfig;
  readonly peers: DevicePeers;
  readonly runtime: Runtime;
  readonly directory: DirectoryClient;
  readonly limiter: ReturnType<typeof createLimiter>;
  readonly store: GrantStore;
  readonly decisions: DecisionStore;
  readonly audit: DeviceAudit;
  readonly experiences: ApprovalExperiences;
  readonly notifications: Notifications | undefined;
}): DeviceParts {
  const { config, peers, runtime, directory, limiter, store, decisions, audit, experiences, notifications } =
    given;
  const { clock, random, failpoint } = runtime;
  const admission = createClientAdmission({
    directory,
    limiter,
    limits: startLimits(config),
    audit,
    requireAuthentication: config.TESSERA_PROFILE === 'strict',
  });
  const secrets = createPollSecrets(config.TESSERA_DEVICE_HMAC_KEY, random);
  const intervalSeconds = config.TESSERA_DEVICE_POLL_INTERVAL;
  const common = { store, admission, directory, audit, runtime, secrets, intervalSeconds };
  return {
    devices: createDeviceAuthorizations({
      ...common,
      lifetimeSeconds: config.TESSERA_DEVICE_CODE_TTL,
      failureLimits: failureLimits(config),
    }),
    backchannels: createBackchannelAuthentications({
      ...common,
      directoryService: peers.directory,
      experiences,
      limiter,
      hintLimit: {
        name: 'ciba.start.user',
        limit: config.TESSERA_CIBA_REQUESTS_PER_USER,
        windowSeconds: 600,
      },
      lifetimeSeconds: config.TESSERA_CIBA_REQUEST_TTL,
      pendingLimit: config.TESSERA_CIBA_PENDING_PER_USER,
      requireConfidential: config.TESSERA_PROFILE === 'strict',
      requireOpenid: config.TESSERA_PROFILE === 'strict',
      encryption: notifications?.encryption,
    }),
    approvals: createApprovals({
      store,
      decisions,
      directory,
      limiter,
      accountLimit: {
        name: 'decision.account',
        limit: config.TESSERA_DECISIONS_PER_USER,
        windowSeconds: 60,
      },
      audit,
      failpoint,
      experiences,
      clock,
      random,
      onDelivery: () => notifications?.deliveries.wake(),
    }),
    polling: createPolling({ store, decisions, secrets }),
    pushes: notifications?.pushes ?? noPushes,
    deliveryModes: notifications === undefined ? ['poll'] : ['poll', 'ping', 'push'],
  };
}

function startLimits(config: DeviceConfig): StartLimits {
  return {
    client: { name: 'start.client', limit: config.TESSERA_DEVICE_REQUESTS_PER_CLIENT, windowSeconds: 60 },
    address: { name: 'start.address', limit: config.TESSERA_DEVICE_REQUESTS_PER_ADDRESS, windowSeconds: 60 },
  };
}

function failureLimits(config: DeviceConfig): FailureLimits {
  return {
    session: config.TESSERA_USER_CODE_FAILURES_PER_SESSION,
    person: config.TESSERA_USER_CODE_FAILURES_PER_USER,
    address: config.TESSERA_USER_CODE_FAILURES_PER_ADDRESS,
    windowSeconds: config.TESSERA_USER_CODE_FAILURES_WINDOW,
    global: config.TESSERA_USER_CODE_FAILURES_TOTAL,
  };
}
