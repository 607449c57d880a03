import { createSend } from '@tessera/outbound';
import { createDirectoryClient } from '@tessera/directory-client';
import { ChangeFeed, createLimiter, startPurge, type Migrations } from '@tessera/stores';
import { auditRoute, createAuditBatch } from '@tessera/audit';
import { expectRefusals, limitRepeats } from '@tessera/telemetry';
import { route, routeWhenCalled, type BuiltService } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { allowsPrivate, refuseWhileClockIsWrong, type Runtime } from '@tessera/process';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { Authorization } from '@tessera/proto-gen/envoy';
import type { KeysService } from '@tessera/proto-gen/keys';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { bearerAuthentication } from './introspection/bearer-authentication.ts';
import { parseCertificateClients } from './introspection/certificate-clients.ts';
import type { TokenConfig } from './config.ts';
import { countTokenRequests } from './counts/token-counts.ts';
import { authorizationCodeGrant } from './grants/authorization-code.ts';
import { clientCredentialsGrant, jwtBearerGrant } from './grants/client-credentials.ts';
import { cibaGrant, deviceCodeGrant } from './grants/device-and-ciba.ts';
import { refreshTokenGrant } from './grants/refresh-token.ts';
import { createFamilyCount } from './impact/count-families.ts';
import { createLiveSessions } from './verification/sessions-of-families.ts';
import { createRevokedAccessTokens } from './verification/revoked-access-tokens.ts';
import { createRefreshTokenCodec, parseRefreshKeys } from './refresh-token-format.ts';
import { envoyHandlers, introspectionHandlers, tokenHandlers, type ServiceDeps } from './service.ts';
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

/**
 * Builds the token service: all of its wiring. Starts its purges and the worker of logout notices; `close` stops them.
 */
export function buildToken(config: TokenConfig, peers: TokenPeers, runtime: Runtime): BuiltService {
  const { database, redis, clock, log } = runtime;
  expectRefusals(TokenService.method.exchange, ['reuse_detected', 'replayed']);
  const { refresh, redemption: redemptions, revocations } = createPostgresStores(database, runtime);
  const counts = countTokenRequests({ database, clock, log });
  const purges = [
    startPurge({ purge: (limit) => refresh.purgeExpired(limit) }, { what: 'refresh families', log }),
    startPurge({ purge: (limit) => redemptions.purgeOld(limit) }, { what: 'redemptions', log }),
    startPurge({ purge: (limit) => redemptions.purgeSessionEnds(limit) }, { what: 'ended sessions', log }),
    startPurge(revocations, { what: 'revocations', log }),
    startPurge(counts, { what: 'token counts', log }),
  ];
  const audit = createAuditBatch({ database, schema: migrations.schema, runtime });
  const revocationFeed = new ChangeFeed(revocations, log);
  const revokedAccessTokens = createRevokedAccessTokens(revocations, revocationFeed, runtime);

  const limiter = createLimiter({ redis, clock, log, prefix: 'token' });
  const directory = createDirectoryClient({ directory: peers.directory, runtime, limiter });
  const verificationKeys = createVerificationKeys(peers.keys, directory, runtime);
  const verifier = createTokenVerifier(verificationKeys, runtime, revokedAccessTokens);
  const signer = createSigner(peers.keys);

  const refreshKeys = parseRefreshKeys(config.TESSERA_TOKEN_REFRESH_KEYS.reveal()) ?? [];
  const refreshTokens = createRefreshTokenCodec(refreshKeys);
  const refreshIdleSeconds = config.TESSERA_REFRESH_TOKEN_IDLE_TTL;
  const sessions = createLiveSessions(peers.authorize);
  const oneTime = {
    runtime,
    directory,
    sessions,
    revokedAccessTokens,
    redemptions,
    refreshTokens,
    refreshIdleSeconds,
    refreshAbsoluteSeconds: config.TESSERA_REFRESH_TOKEN_ABSOLUTE_TTL,
  };
  const retryWindowSeconds = config.TESSERA_REFRESH_RETRY_WINDOW;
  const grants = [
    authorizationCodeGrant(peers.authorize, oneTime),
    clientCredentialsGrant(audit),
    jwtBearerGrant(audit),
    refreshTokenGrant({ ...oneTime, families: refresh, retryWindowSeconds }),
    ...(peers.device === undefined
      ? []
      : [deviceCodeGrant(peers.device.device, oneTime), cibaGrant(peers.device.backchannel, oneTime)]),
  ];

  const deps: ServiceDeps = {
    runtime,
    audit,
    counts,
    directory,
    verifier,
    signer,
    warnings: limitRepeats(log),
    refreshTokens,
    families: refresh,
    liveSessions: sessions,
    sessionEnds: redemptions,
    authorize: peers.authorize,
    grantCalls: {
      families: refresh,
      directory,
      liveSessions: sessions,
      people: peers.directory,
      issuer: config.TESSERA_ISSUER,
      onRevocation: () => revocationFeed.poke(),
    },
    counters: {
      sessions: async (ends, call) => (await peers.authorize.countEndedSessions({ ends }, call)).sessions,
      consents: async (ends, call) => (await peers.authorize.countEndedConsents({ ends }, call)).consents,
      families: createFamilyCount({
        families: refresh,
        directory: peers.directory,
        issuer: config.TESSERA_ISSUER,
      }),
    },
    revocations,
    revocationFeed,
    changes: peers.directory,
    sessions: peers.authorize,
    certificateClients:
      parseCertificateClients(config.TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS) ?? new Map(),
    grants: new Map(grants.map((grant) => [grant.name, grant])),
    issuer: config.TESSERA_ISSUER,
    accessTokenSeconds: config.TESSERA_ACCESS_TOKEN_TTL,
    idTokenSeconds: config.TESSERA_ID_TOKEN_TTL,
  };
  const send = createSend({ allowPrivate: allowsPrivate(config, 'webhooks') });
  const logoutNotices = startLogoutNotices({ ...deps, authorize: peers.authorize, send, runtime });
  const bearer = bearerAuthentication(deps);
  const built: BuiltService = {
    name: 'token',
    routes: [
      route(TokenService, tokenHandlers(deps)),
      route(IntrospectionService, introspectionHandlers(deps), { bearer }),
      route(Authorization, envoyHandlers(deps), { bearer }),
      routeWhenCalled(GrantsService, async () => {
        const { grantCalls } = await import('./revocation/grant-calls.ts');
        const { tokenCount } = await import('./counts/count-tokens.postgres.ts');
        return grantCalls({ ...deps.grantCalls, countTokens: tokenCount(database) });
      }),
      auditRoute(database, 'token'),
    ],
    async ready() {
      await database.query({ name: 'token.ready', text: 'SELECT 1 FROM token.refresh_family LIMIT 0' });
      await revokedAccessTokens.ready();
    },
    async close() {
      await logoutNotices.close();
      await revokedAccessTokens.close();
      await Promise.all([directory, revocationFeed, ...purges, counts, audit].map((each) => each.close()));
    },
  };
  return refuseWhileClockIsWrong(built, runtime);
}
