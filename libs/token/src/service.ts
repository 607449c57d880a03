import type { Handlers } from '@tessera/rpc';
import type { Authorization } from '@tessera/proto-gen/envoy';
import type { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { countEnded, type Counters } from './impact/count-ended.ts';
import { requestedIssuer } from './requested-issuer.ts';
import { checkForEnvoy } from './introspection/envoy-authorization.ts';
import { introspect, introspectBatch, type IntrospectionDeps } from './introspection/introspection.ts';
import { exchange, type PipelineDeps } from './pipeline/pipeline.ts';
import type { GrantCallsDeps } from './revocation/grant-calls.ts';
import { endGrantSession, type EndSessionDeps } from './revocation/end-grant-session.ts';
import { revoke, type RevocationDeps } from './revocation/revoke-grant.ts';
import { userInfo, type UserInfoDeps } from './user-info.ts';
import { watchRevocations, type WatchDeps } from './revocation/revocation-watch.ts';

export type ServiceDeps = PipelineDeps &
  IntrospectionDeps &
  RevocationDeps &
  UserInfoDeps &
  EndSessionDeps &
  WatchDeps & {
    readonly counters: Counters;
    readonly grantCalls: GrantCallsDeps;
  };

export function tokenHandlers(deps: ServiceDeps): Handlers<typeof TokenService> {
  // People look at them seldom (ADR 92).
  const ownGrants = async () => (await import('./revocation/grant-calls.ts')).ownGrantCalls(deps.grantCalls);
  return {
    exchange: (request, context) => exchange(deps, request, context),
    async revoke(request, context) {
      await revoke(deps, request, context);
      deps.revocationFeed.poke();
      return {};
    },
    async userInfo(request, context) {
      const claims = await userInfo(deps, request, context);
      const { sub, name, email, phone_number: phoneNumber, ...further } = claims;
      return {
        sub,
        ...(name !== undefined && { name }),
        ...(email !== undefined && { email }),
        ...(phoneNumber !== undefined && { phoneNumber }),
        ...(Object.keys(further).length > 0 && { claims: further }),
      };
    },
    async noteSessionEnd({ tenantId, sessionId }, { requestId }) {
      await deps.sessionEnds.noteSessionEnd(tenantId, sessionId, { requestId, ipAddress: '' });
      deps.revocationFeed.poke();
      return {};
    },
    async endGrantSession(request, context) {
      await endGrantSession(deps, request, context);
      deps.revocationFeed.poke();
      return {};
    },
    listPersonGrants: async (request, context) => (await ownGrants()).listPersonGrants(request, context),
    revokePersonGrants: async (request, context) => (await ownGrants()).revokePersonGrants(request, context),
    async countEnded({ ends }, context) {
      return ends === undefined ? {} : countEnded(deps.counters, ends, () => context.onward());
    },
    async verifyIdTokenHint({ idToken, caller }, context) {
      const hint = await deps.verifier.idToken(idToken, () => context.onward());
      if (hint === undefined || hint.iss !== requestedIssuer(deps.issuer, caller)) return { valid: false };
      return { valid: true, clientId: hint.aud, sub: hint.sub, sessionId: hint.sid };
    },
  };
}

export function introspectionHandlers(
  deps: IntrospectionDeps & WatchDeps,
): Handlers<typeof IntrospectionService> {
  return {
    introspect: (request, context) => introspect(deps, request, context),
    async batchIntrospect(request, context) {
      return { outcomes: await introspectBatch(deps, request, context) };
    },
    watchRevocations: (request, context) => watchRevocations(deps, request, context),
  };
}

export function envoyHandlers(deps: IntrospectionDeps): Handlers<typeof Authorization> {
  return { check: (request, context) => checkForEnvoy(deps, request, context) };
}
