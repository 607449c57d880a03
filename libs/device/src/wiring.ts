import { auditRoute, createAuditBatch } from '@tessera/audit';
import { createSend } from '@tessera/outbound';
import { createLimiter, startPurge } from '@tessera/stores';
import { route } from '@tessera/rpc';
import type { BuiltService, Client } from '@tessera/rpc';
import { allowsPrivate, refuseWhileClockIsWrong, type Runtime } from '@tessera/process';
import type { Migrations } from '@tessera/stores';
import { createDirectoryClient } from '@tessera/directory-client';
import type { DirectoryClient } from '@tessera/directory-client';
import { ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { approvalCalls } from './approval-calls.ts';
import { createApprovals } from './approval/approval.ts';
import { page, type ApprovalChannels } from './approval/approval-channel.ts';
import { createDeviceAudit } from './audit.ts';
import type { DeviceAudit } from './audit.ts';
import { createBackchannelAuthentications } from './backchannel/backchannel-authentication.ts';
import { deviceLimits, type DeviceConfig, type DeviceLimits } from './config.ts';
import { createCallbackEncryption } from './delivery/callback.ts';
import { startDeliveries } from './delivery/deliveries.ts';
import { createEncryption } from './delivery/encryption.ts';
import type { DeliveryStore } from './store/delivery-store.ts';
import { createDeliveryStore } from './store/delivery-store.postgres.ts';
import { createDeviceAuthorizations } from './device-authorization/device-authorization.ts';
import { createPolling } from './polling/polling.ts';
import { createPollSecrets } from './polling/poll-secret.ts';
import { withProcessFailureCounters } from './store/user-code-failures.memory.ts';
import { backchannelHandlers, deviceHandlers } from './service.ts';
import { createClientAdmission } from './start/client-admission.ts';
import type { StartLimits } from './start/client-admission.ts';
import type { GrantStore } from './store/grant-store.ts';
import { createMemoryGrantStore } from './store/grant-store.memory.ts';
import { createDecisionStore } from './store/decision-store.postgres.ts';
import { createRedisGrantStore } from './store/grant-store.redis.ts';
import { createWebhookKeys } from './webhook/webhook-keys.ts';
import { createPromptMessage, createWebhookExperience } from './webhook/prompts.ts';

/** The schema `device`. Run it before the service is built. */
export const migrations: Migrations = { schema: 'device', directory: new URL('../sql/', import.meta.url) };

export interface DevicePeers {
  readonly directory: Client<typeof DirectoryService>;
}

interface DeviceOptions {
  /** In place of those that follow from the settings, for tests. */
  readonly limits?: DeviceLimits;
}

/** Builds the device service; it watches the directory and removes old decisions from the start. */
export function buildDevice(
  config: DeviceConfig,
  peers: DevicePeers,
  runtime: Runtime,
  { limits = deviceLimits(config) }: DeviceOptions = {},
): BuiltService {
  const { database, redis, clock, random, log, failpoint } = runtime;
  const batch = createAuditBatch({ database, schema: 'device', runtime });
  const audit = createDeviceAudit(batch, runtime);
  const limiter = createLimiter({ redis, clock, log, prefix: 'device' });
  const directory = createDirectoryClient({ directory: peers.directory, runtime, limiter });

  const decisions = createDecisionStore(database);
  const deliveryStore = createDeliveryStore(database);
  const purges = [
    startPurge(decisions, { what: 'decisions', log }),
    startPurge(deliveryStore, { what: 'deliveries', log }),
  ];
  const store =
    redis === undefined
      ? createMemoryGrantStore(clock)
      : withProcessFailureCounters(createRedisGrantStore(redis), clock);

  const notifications = startNotifications(config, {
    audit,
    directory,
    runtime,
    grants: store,
    store: deliveryStore,
  });
  const channels: ApprovalChannels = new Map([
    ['page', page],
    ...(notifications === undefined ? [] : ([['webhook', notifications.webhook]] as const)),
  ]);

  const isStrict = config.TESSERA_PROFILE === 'strict';
  const admission = createClientAdmission({
    directory,
    limiter,
    limits: startLimits(limits),
    audit,
    requireAuthentication: isStrict,
  });
  const secrets = createPollSecrets(config.TESSERA_DEVICE_HMAC_KEY, random);
  const intervalSeconds = config.TESSERA_DEVICE_POLL_INTERVAL;
  const devices = createDeviceAuthorizations({
    store,
    admission,
    directory,
    audit,
    runtime,
    secrets,
    intervalSeconds,
    lifetimeSeconds: config.TESSERA_DEVICE_CODE_TTL,
    failureLimits: limits.failures,
  });
  const backchannels = createBackchannelAuthentications({
    store,
    admission,
    directory,
    audit,
    runtime,
    secrets,
    intervalSeconds,
    directoryService: peers.directory,
    channels,
    limiter,
    hintLimit: { name: 'ciba.start.user', limit: config.TESSERA_CIBA_REQUESTS_PER_USER, windowSeconds: 600 },
    lifetimeSeconds: config.TESSERA_CIBA_REQUEST_TTL,
    pendingLimit: limits.pendingPerUser,
    requireConfidential: isStrict,
    requireOpenid: isStrict,
    encryption: notifications?.encryption,
  });
  const approvals = createApprovals({
    store,
    decisions,
    directory,
    limiter,
    accountLimit: { name: 'decision.account', limit: limits.decisionsPerUser, windowSeconds: 60 },
    audit,
    failpoint,
    channels,
    clock,
    random,
    onDelivery: () => notifications?.deliveries.wake(),
  });
  const deps = {
    devices,
    backchannels,
    approvals,
    polling: createPolling({ store, decisions, secrets }),
    deliveryModes: notifications === undefined ? ['poll'] : ['poll', 'ping'],
  };
  const built: BuiltService = {
    name: 'device',
    routes: [
      route(DeviceAuthorizationService, deviceHandlers(deps)),
      route(BackchannelAuthenticationService, backchannelHandlers(deps)),
      route(ApprovalsService, approvalCalls(deps)),
      auditRoute(database, 'device'),
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

/** Without a key nothing can be signed or encrypted: neither the webhook nor pings are offered. */
function startNotifications(
  config: DeviceConfig,
  deps: {
    readonly audit: DeviceAudit;
    readonly directory: DirectoryClient;
    readonly runtime: Runtime;
    readonly grants: GrantStore;
    readonly store: DeliveryStore;
  },
) {
  const { TESSERA_WEBHOOK_KEY: key } = config;
  if (key === undefined) return undefined;
  const { directory, runtime, grants, store } = deps;
  const keys = createWebhookKeys(key);
  const send = createSend({ allowPrivate: allowsPrivate(config, 'webhooks') });
  const encryption = createCallbackEncryption(createEncryption(keys.encryptionKey, runtime.random));
  const promptMessage = createPromptMessage({ keys, runtime, grants, directory });
  const deliveries = startDeliveries({ ...deps, encryption, promptMessage, send, log: runtime.log });
  return {
    webhook: createWebhookExperience({ keys, runtime, store, wake: () => deliveries.wake() }),
    encryption,
    deliveries,
  };
}

function startLimits({ requests: { perClient, perAddress } }: DeviceLimits): StartLimits {
  return {
    client: { name: 'start.client', limit: perClient, windowSeconds: 60 },
    address: { name: 'start.address', limit: perAddress, windowSeconds: 60 },
  };
}
