import { createDirectoryClient } from '@tessera/directory-client';
import { ChangeFeed, createLimiter, type Migrations } from '@tessera/stores';
import { createAuditBatch, type AuditBatch } from '@tessera/audit';
import { expectRefusals } from '@tessera/telemetry';
import { route, type BuiltService } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { type Kit } from '@tessera/process';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { KeysService } from '@tessera/proto-gen/keys';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { bearerAuthentication } from './introspection/bearer-authentication.ts';
import { parseBindings } from './introspection/certificate-clients.ts';
import type { TokenConfig } from './config.ts';
import { authorizationCodeGrant } from './grants/authorization-code.ts';
import { clientCredentialsGrant } from './grants/client-credentials.ts';
import type { Grant, GrantTable } from './grants/grant.ts';
import { cibaGrant, deviceCodeGrant } from './grants/device-and-ciba.ts';
import type { OneTimeParts } from './grants/one-time-grant.ts';
import { refreshTokenGrant } from './grants/refresh-token.ts';
import { startPurges } from './store/purge.ts';
import { issuePush, type PushParts } from './push/issue-pushed-tokens.ts';
import { startPushing, type Pushing } from './push/push-worker.ts';
import { createRefreshTokenCodec, parseRefreshKeys } from './refresh-token-format.ts';
import { introspectionHandlers, tokenHandlers, type ServiceParts } from './service.ts';
import { createSigner } from './grants/signer.ts';
import { createPostgresStores } from './store/store.postgres.ts';
import { createTokenVerifier } from './verification/token-verifier.ts';
import { createVerificationKeys } from './verification/verification-keys.ts';

/** The schema `token`; to be run before the service is built. */
export const migrations: Migrations = { schema: 'token', directory: new URL('../sql/', import.meta.url) };

export interface TokenPeers {
  readonly keys: Client<typeof KeysService>;
  readonly directory: Client<typeof DirectoryService>;
  readonly authorize: Client<typeof AuthorizeService>;
  /** Absent: the grants `device_code` and `ciba` are not offered. */
  readonly device?: {
    readonly device: Client<typeof DeviceAuthorizationService>;
    readonly backchannel: Client<typeof BackchannelAuthenticationService>;
  };
}

export function buildToken(config: TokenConfig, peers: TokenPeers, kit: Kit): BuiltService {
  const { database } = kit;
  expectRefusals(TokenService.method.exchange, ['reuse_detected', 'replayed']);
  const stores = createPostgresStores(database, kit);
  const audit = createAuditBatch({ database, schema: migrations.schema, kit });
  const purge = startPurges(stores, kit.log);
  const oneTime = oneTimeParts(config, kit, stores);
  const parts = serviceParts(config, peers, kit, { stores, audit, oneTime });
  const pushing = peers.device && pushes({ ...parts, oneTime }, peers.device.backchannel);
  return {
    name: 'token',
    routes: [
      route(TokenService, tokenHandlers(parts), {
        exchange: ['gateway'],
        revoke: ['gateway'],
        userInfo: ['gateway'],
        noteSessionEnd: ['gateway'],
        verifyIdTokenHint: ['gateway'],
      }),
      route(
        IntrospectionService,
        introspectionHandlers(parts),
        {
          introspect: ['gateway', 'introspector', 'operator'],
          batchIntrospect: ['introspector', 'operator'],
          watchRevocations: ['introspector', 'operator'],
        },
        { bearer: bearerAuthentication(parts) },
      ),
    ],
    async ready() {
      await database.query({ name: 'token.ready', text: 'SELECT 1 FROM token.refresh_family LIMIT 0' });
    },
    async close() {
      await pushing?.close();
      await Promise.all([
        parts.directory.close(),
        parts.revocationFeed.close(),
        purge.close(),
        audit.close(),
      ]);
    },
  };
}

interface Durable {
  readonly stores: ReturnType<typeof createPostgresStores>;
  readonly audit: AuditBatch;
  readonly oneTime: OneTimeParts;
}

function pushes(parts: PushParts, backchannel: Client<typeof BackchannelAuthenticationService>): Pushing {
  return startPushing({ backchannel, issue: (push) => issuePush(parts, push), kit: parts.kit });
}

function oneTimeParts(config: TokenConfig, kit: Kit, stores: Durable['stores']): OneTimeParts {
  return {
    kit,
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
  kit: Kit,
  { stores, audit, oneTime }: Durable,
): ServiceParts {
  const { redis, clock, log } = kit;
  const limiter = createLimiter({ redis, clock, log, prefix: 'token' });
  const refresh = {
    ...oneTime,
    kit,
    families: stores.refresh,
    retryWindowSeconds: config.TESSERA_REFRESH_RETRY_WINDOW,
  };
  return {
    kit,
    audit,
    refreshTokens: oneTime.refreshTokens,
    families: stores.refresh,
    sessionEnds: stores.redemption,
    revocations: stores.revocations,
    revocationFeed: new ChangeFeed(stores.revocations, log),
    changes: peers.directory,
    sessions: peers.authorize,
    bindings: parseBindings(config.TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS) ?? new Map(),
    cacheSeconds: config.TESSERA_INTROSPECTION_CACHE_TTL,
    grants: grantTable([
      authorizationCodeGrant(peers.authorize, oneTime),
      clientCredentialsGrant(audit),
      refreshTokenGrant(refresh),
      ...polledGrants(peers.device, oneTime),
    ]),
    directory: createDirectoryClient({ directory: peers.directory, kit, limiter }),
    verifier: createTokenVerifier(createVerificationKeys(peers.keys, kit), kit),
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
