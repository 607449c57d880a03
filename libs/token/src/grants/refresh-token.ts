import type { Kit } from '@tessera/process';
import { grantResourcesFor, type OAuthError } from '@tessera/oauth';
import { mayUseRefreshTokens } from '../client-authentication.ts';
import { refuse } from '../audit-reason.ts';
import type { RefreshTokenCodec } from '../refresh-token-format.ts';
import type { RefreshStore, RotationRefusal } from '../store/store.ts';
import type { Exchange, Grant } from './grant.ts';

export interface RefreshParts {
  readonly kit: Pick<Kit, 'failpoint' | 'log'>;
  readonly families: RefreshStore;
  readonly refreshTokens: RefreshTokenCodec;
  readonly refreshIdleSeconds: number;
  readonly retryWindowSeconds: number;
}

/**
 * RFC 6749 §6 with rotation (RFC 9700 §4.14.2). The rotation itself checks owner, generation, state, scope and resource,
 * in one statement, so that nothing a request asks for hides that its token was used before. What fails from then on (the
 * user is not active, the application lost a scope, our own trouble) leaves the successor for the next attempt.
 */
export function refreshTokenGrant(parts: RefreshParts): Grant {
  const { families, refreshTokens, kit } = parts;
  return {
    name: 'refresh_token',
    parameters: ['refresh_token'],
    async redeem(exchange) {
      requireOffline(exchange);
      const presented = refreshTokens.decode(exchange.request.refreshToken);
      if (presented === undefined) throw refusal('unknown');
      const { tenantId, clientId, lifetimes, scopes } = exchange.application;
      const trail = { ...exchange.trail, details: { jti: exchange.tokenId } };
      kit.failpoint('refresh.before_commit');
      const outcome = await families.rotate({
        tenantId,
        clientId,
        familyId: presented.familyId,
        generation: presented.generation,
        scopes: exchange.requestedScopes,
        resources: grantResourcesFor(exchange.request.resource, scopes),
        idleSeconds: lifetimes?.refreshTokenIdle || parts.refreshIdleSeconds,
        retryWindowSeconds: parts.retryWindowSeconds,
        trail,
      });
      kit.failpoint('refresh.after_commit');
      if (outcome.kind !== 'rotated' && outcome.kind !== 'retried') throw refusal(outcome.kind);
      const successor = { familyId: presented.familyId, generation: outcome.generation };
      return {
        // A nonce belongs to the first ID token alone (OIDC Core §12.2).
        person: { ...outcome.grant, nonce: '' },
        commit: () => Promise.resolve(refreshTokens.encode(successor)),
        abandon: () =>
          families
            .markUndelivered({ tenantId, clientId, ...successor, trail: exchange.trail })
            .catch((error: unknown) =>
              kit.log.warn({ err: error }, 'an undelivered refresh token was not noted'),
            ),
      };
    },
  };
}

/** An application that lost `offline_access` keeps its families, in case it was a mistake, and may not use them. */
function requireOffline({ application }: Exchange): void {
  if (mayUseRefreshTokens(application)) return;
  throw refuse('invalid_grant', 'The refresh token is not valid.', 'offline_access_withdrawn');
}

const audited: ReadonlySet<RotationRefusal> = new Set(['client_mismatch', 'reuse_detected']);

/** Unknown, expired, revoked, used before and another client's are one answer. */
function refusal(kind: RotationRefusal): OAuthError {
  if (kind === 'scope_exceeded') {
    return refuse('invalid_scope', 'The scope exceeds what was originally granted.', kind);
  }
  if (kind === 'resource_mismatch') {
    return refuse('invalid_target', 'The resource is not the one of the original grant.', kind);
  }
  return refuse('invalid_grant', 'The refresh token is not valid.', kind, { audited: audited.has(kind) });
}
