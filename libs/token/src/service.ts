import type { Handlers } from '@tessera/rpc';
import type { Authorization } from '@tessera/proto-gen/envoy';
import type { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { requestedIssuer } from './requested-issuer.ts';
import { checkForEnvoy } from './introspection/envoy-authorization.ts';
import { introspect, introspectBatch, type IntrospectionParts } from './introspection/introspection.ts';
import { exchange, type PipelineParts } from './pipeline/pipeline.ts';
import { revoke, type RevocationParts } from './revocation/revoke-grant.ts';
import type { RedemptionStore } from './store/store.ts';
import { userInfo, type UserInfoParts } from './user-info.ts';
import { watchRevocations, type WatchParts } from './revocation/revocation-watch.ts';

export type ServiceParts = PipelineParts &
  IntrospectionParts &
  RevocationParts &
  UserInfoParts &
  WatchParts & { readonly sessionEnds: Pick<RedemptionStore, 'noteSessionEnd'> };

export function tokenHandlers(parts: ServiceParts): Handlers<typeof TokenService> {
  return {
    exchange: (request, context) => exchange(parts, request, context),
    async revoke(request, context) {
      await revoke(parts, request, context);
      parts.revocationFeed.poke();
      return {};
    },
    async userInfo(request, context) {
      const claims = await userInfo(parts, request, context);
      const { sub, name, email, phone_number: phoneNumber, ...further } = claims;
      return {
        sub,
        ...(name !== undefined && { name }),
        ...(email !== undefined && { email }),
        ...(phoneNumber !== undefined && { phoneNumber }),
        ...(Object.keys(further).length > 0 && { claims: further }),
      };
    },
    async noteSessionEnd({ tenantId, sessionId }) {
      // No session has such an id, and Postgres refuses the character.
      if (!`${tenantId}${sessionId}`.includes('\0')) {
        await parts.sessionEnds.noteSessionEnd(tenantId, sessionId);
      }
      return {};
    },
    async verifyIdTokenHint({ idToken, caller }, context) {
      const hint = await parts.verifier.idToken(idToken, () => context.onward());
      if (hint === undefined || hint.iss !== requestedIssuer(parts.issuer, caller)) return { valid: false };
      return { valid: true, clientId: hint.aud, sub: hint.sub, sessionId: hint.sid };
    },
  };
}

export function introspectionHandlers(
  parts: IntrospectionParts & WatchParts,
): Handlers<typeof IntrospectionService> {
  return {
    introspect: (request, context) => introspect(parts, request, context),
    async batchIntrospect(request, context) {
      return { outcomes: await introspectBatch(parts, request, context) };
    },
    watchRevocations: (request, context) => watchRevocations(parts, request, context),
  };
}

export function envoyHandlers(parts: IntrospectionParts): Handlers<typeof Authorization> {
  return { check: (request, context) => checkForEnvoy(parts, request, context) };
}
