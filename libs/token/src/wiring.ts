import { createSend } from '@tessera/delivery';
import { createDirectoryClient } from '@tessera/directory-client';
import { ChangeFeed, createLimiter, type Migrations } from '@tessera/stores';
import { createAuditBatch, type AuditBatch } from '@tessera/audit';
import { expectRefusals } from '@tessera/telemetry';
import { route, type BuiltService } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { refuseWhileClockIsWrong, type Runtime } from '@tessera/process';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import type {
  ApprovedPush,
  BackchannelAuthenticationService,
  DeviceAuthorizationService,
} from '@tessera/proto-gen/device';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { Authorization } from '@tessera/proto-gen/envoy';
import type { KeysService } from '@tessera/proto-gen/keys';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { bearerAuthentication } from './introspection/bearer-authentication.ts';
import { parseCertificateClients } from './introspection/certificate-clients.ts';
import type { TokenConfig } from './config.ts';
import { authorizationCodeGrant } from './grants/authorization-code.ts';
import { clientCredentialsGrant } from './grants/client-credentials.ts';
import type { Grant, GrantTable } from './pipeline/grant-table.ts';
import { cibaGrant, deviceCodeGrant } from './grants/device-and-ciba.ts';
import type { OneTimeParts } from './pipeline/one-time-redemption.ts';
import { refreshTokenGrant } from './grants/refresh-token.ts';
import { createRevokedAccessTokens, type RevokedAccessTokens } from './revocation/revoked-access-tokens.ts';
import { startPurges } from './store/purges.ts';
import { issuePushedTokens, type PushParts } from './push/issue-pushed-tokens.ts';
import { startPushWorker, type PushWorker } from './push/push-worker.ts';
import { createRefreshTokenCodec, parseRefreshKeys } from './refresh-token-format.ts';
import { envoyHandlers, introspectionHandlers, tokenHandlers, type ServiceParts } from './service.ts';
import { startLogoutNotices } from './logout/notice-worker.ts';
import { createSigner } from './pipeline/batched-signer.ts';
import { createPostgresStores } from './store/store.postgres.ts';
import { createTokenVerifier } from './verification/token-verifier.ts';
import { createVerificationKeys } from './verification/verification-keys.ts';

/** The migrations of the schema `token`, to be run before the service is built. */
export const migrations: Migrations = { schema: 'token', directory: new URL('../sql/', import.meta.url) };

/** Clients of the services that this service calls. */
export interface TokenPeers {
  readonly keys: Client<typeof KeysService>;
  readonly directory: Client<typeof DirectoryService>;
  readonly authorize: Client<typeof AuthorizeService>;
  /** Absent: the grant types `device_code` and `ciba` are not offered. */
  readonly device?: {
    readonly device: Client<typeof DeviceAuthorizationService>;
    readonly backchannel: Client<typeof BackchannelAuthenticationService>;
  };
}

/** Builds the token service: all of its wiring. Starts its purges and the push worker; `close` stops them. */
export function buildToken(config: TokenConfig, peers: TokenPeers, runtime: Runtime): BuiltService {
  const { database } = runtime;
  expectRefusals(TokenService.method.exchange, ['reuse_detected', 'replayed']);
  const stores = createPostgresStores(database, runtime);
  const audit = createAuditBatch({ database, schema: migrations.schema, runtime });
  const purge = startPurges(stores, runtime.log);
  const revocationFeed = new ChangeFeed(stores.revocations, runtime.log);
  const revokedAccessTokens = createRevokedAccessTokens(stores.revocations, revocationFeed, runtime);
  const oneTime = oneTimeParts(config, runtime, stores, revokedAccessTokens);
  const parts = serviceParts(config, peers, runtime, {
    stores,
    audit,
    oneTime,
    revocationFeed,
    revokedAccessTokens,
  });
  const pushWorker = peers.device && startPushes({ ...parts, oneTime, runtime }, peers.device.backchannel);
  const { authorize } = peers;
  const send = createSend({ allowPrivate: config.TESSERA_WEBHOOK_ALLOW_PRIVATE });
  const logoutNotices = startLogoutNotices({ ...parts, authorize, send, runtime });
  const bearer = bearerAuthentication(parts);
  const built: BuiltService = {
    name: 'token',
    routes: [
      route(TokenService, tokenHandlers(parts)),
      route(IntrospectionService, introspectionHandlers(parts), { bearer }),
      route(Authorization, envoyHandlers(parts), { bearer }),
    ],
    async ready() {
      await database.query({ name: 'token.ready', text: 'SELECT 1 FROM token.refresh_family LIMIT 0' });
      await revokedAccessTokens.ready();
    },
    async close() {
      await Promise.all([pushWorker?.close(), logoutNotices.close()]);
      await revokedAccessTokens.close();
      await Promise.all([
        parts.directory.close(),
        parts.revocationFeed.close(),
        purge.close(),
        audit.close(),
      ]);
    },
  };
  return refuseWhileClockIsWrong(built, runtime);
}

interface StoreParts {
  readonly stores: ReturnType<typeof createPostgresStores>;
  readonly audit: AuditBatch;
  readonly oneTime: OneTimeParts;
  readonly revocationFeed: ServiceParts['revocationFeed'];
  readonly revokedAccessTokens: RevokedAccessTokens;
}

function startPushes(
  parts: PushParts & { readonly runtime: Runtime },
  backchannel: Client<typeof BackchannelAuthenticationService>,
): PushWorker {
  const issue = async (push: ApprovedPush) => {
    parts.runtime.requireClock();
    return issuePushedTokens(parts, push);
  };
  return startPushWorker({ backchannel, issue, runtime: parts.runtime });
}

function oneTimeParts(
  config: TokenConfig,
  runtime: Runtime,
  stores: StoreParts['stores'],
  revokedAccessTokens: RevokedAccessTokens,
): OneTimeParts {
  return {
    runtime,
    revokedAccessTokens,
    redemptions: stores.redemption,
    refreshTokens: createRefreshTokenCodec(
      parseRefreshKeys(config.TESSERA_TOKEN_REFRESH_KEYS.reveal()) ?? [],
    ),
    refreshIdleSeconds: config.TESSERA_REFRESH_TOKEN_IDLE_TTL,
    refreshAbsoluteSeconds: config.TESSERA_REFRESH_TOKEN_ABSOLUTE_TTL,
  };
}

function serviceParts(
  config: TokenConfig,
  peers: TokenPeers,
  runtime: Runtime,
  { stores, audit, oneTime, revocationFeed, revokedAccessTokens }: StoreParts,
): ServiceParts {
  const { redis, clock, log } = runtime;
  const limiter = createLimiter({ redis, clock, log, prefix: 'token' });
  const directory = createDirectoryClient({ directory: peers.directory, runtime, limiter });
  const refresh = {
    ...oneTime,
    runtime,
    families: stores.refresh,
    retryWindowSeconds: config.TESSERA_REFRESH_RETRY_WINDOW,
  };
  return {
    runtime,
    audit,
    refreshTokens: oneTime.refreshTokens,
    families: stores.refresh,
    sessionEnds: stores.redemption,
    revocations: stores.revocations,
    revocationFeed,
    changes: peers.directory,
    sessions: peers.authorize,
    certificateClients:
      parseCertificateClients(config.TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS) ?? new Map(),
    cacheSeconds: config.TESSERA_INTROSPECTION_CACHE_TTL,
    grants: grantTable([
      authorizationCodeGrant(peers.authorize, oneTime),
      clientCredentialsGrant(audit),
      refreshTokenGrant(refresh),
      ...polledGrants(peers.device, oneTime),
    ]),
    directory,
    verifier: createTokenVerifier(
      createVerificationKeys(peers.keys, directory, runtime),
      runtime,
      revokedAccessTokens,
    ),
    signer: createSigner(peers.keys),
    issuer: config.TESSERA_ISSUER,
    accessTokenSeconds: config.TESSERA_ACCESS_TOKEN_TTL,
    idTokenSeconds: config.TESSERA_ID_TOKEN_TTL,
  };
}

function polledGrants(device: TokenPeers['device'], oneTime: OneTimeParts): Grant[] {
  if (device === undefined) return [];
  return [deviceCodeGrant(device.device, oneTime), cibaGrant(device.backchannel, oneTime)];
}

function grantTable(grants: readonly Grant[]): GrantTable {
  return new Map(grants.map((grant) => [grant.name, grant]));
}
