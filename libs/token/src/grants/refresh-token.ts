import type { Runtime } from '@tessera/process';
import { grantResourcesFor, type OAuthError } from '@tessera/oauth';
import { oauthError } from '../audit.ts';
import { mayUseRefreshTokens } from '../usable.ts';
import type { DecodedRefreshToken, RefreshTokenCodec } from '../refresh-token-format.ts';
import type { RefreshStore, RotationError } from '../store/store.ts';
import type { LiveSession, LiveSessions } from '../verification/sessions-of-families.ts';
import type { Exchange, Grant } from '../pipeline/grant-table.ts';
import { idleSecondsOf, refreshTokenStyle } from '../pipeline/refresh-token-answer.ts';

export interface RefreshDeps {
  readonly runtime: Pick<Runtime, 'failpoint' | 'log'>;
  readonly families: RefreshStore;
  readonly refreshTokens: RefreshTokenCodec;
  readonly sessions: Pick<LiveSessions, 'use'>;
  readonly refreshIdleSeconds: number;
  readonly retryWindowSeconds: number;
}

/**
 * RFC 6749 §6 with rotation (RFC 9700 §4.14.2). One statement checks owner, generation, state, scope and resource and
 * rotates the token, so that no parameter of the request can hide a reuse. If a later phase fails (inactive user, lost
 * scope, server error), the client can present the same token again and gets the successor.
 */
export function refreshTokenGrant(deps: RefreshDeps): Grant {
  const { families, refreshTokens, runtime } = deps;
  return {
    name: 'refresh_token',
    parameters: ['refresh_token'],
    async redeem(exchange) {
      const presented = refreshTokens.decode(exchange.request.refreshToken);
      if (presented === undefined) throw rotationError('unknown');
      const { tenantId, clientId, lifetimes, scopes } = exchange.application;
      const style = refreshTokenStyle(deps, exchange);
      const session = await sessionOf(deps, exchange, presented);
      if (session === undefined && !(await endsWithSession(deps, exchange, presented)))
        requireOffline(exchange);
      const trail = { ...exchange.trail, details: { jti: exchange.tokenId } };
      runtime.failpoint('refresh.before_commit');
      const outcome = await families.rotate({
        tenantId,
        clientId,
        familyId: presented.familyId,
        generation: presented.generation,
        scopes: exchange.requestedScopes,
        resources: grantResourcesFor(exchange.request.resource, scopes),
        idleSeconds:
          session === undefined
            ? lifetimes?.refreshTokenIdle || deps.refreshIdleSeconds
            : idleSecondsOf(session, exchange.application),
        sessionLives: session !== undefined,
        retryWindowSeconds: deps.retryWindowSeconds,
        trail,
        // A request that was given up may come after later ones of the same client, and would look like a reuse.
        throwIfAborted: exchange.throwIfAborted,
      });
      runtime.failpoint('refresh.after_commit');
      if (outcome.kind !== 'rotated' && outcome.kind !== 'retried') throw rotationError(outcome.kind);
      const successor = { familyId: presented.familyId, generation: outcome.generation };
      return {
        // Only the first ID token has the nonce (OIDC Core §12.2).
        userGrant: { ...outcome.grant, nonce: '' },
        async commit() {
          exchange.throwIfAborted();
          return style.answer(successor, outcome.grant, outcome);
        },
        abandon: () =>
          families
            .recordUndelivered({ tenantId, clientId, ...successor, trail: exchange.trail })
            .catch((error: unknown) => {
              runtime.log.warn({ err: error }, 'cannot record that a refresh token was not delivered');
            }),
      };
    },
  };
}

/**
 * The session that the token lives with, which this is a use of; undefined for one that lives without a session. Throws
 * `invalid_grant` if it has ended.
 */
async function sessionOf(
  { families, sessions }: RefreshDeps,
  { application: { tenantId, clientId }, call }: Exchange,
  { isJwt, ...token }: DecodedRefreshToken,
): Promise<LiveSession | undefined> {
  // Only tokens in that form do.
  const sessionId = isJwt ? await families.sessionOf({ ...token, tenantId, clientId }) : undefined;
  if (sessionId === undefined) return undefined;
  const session = await sessions.use(tenantId, sessionId, call());
  if (session === undefined) throw rotationError('session_ended');
  return session;
}

/**
 * Whether its family lives with a session. A token that was superseded twice is no use of that, but the family must
 * hear that it was presented.
 */
async function endsWithSession(
  { families }: RefreshDeps,
  { application: { tenantId, clientId } }: Exchange,
  { isJwt, familyId }: DecodedRefreshToken,
): Promise<boolean> {
  if (!isJwt) return false;
  const family = await families.endOf({ tenantId, clientId, familyId });
  return family?.endsWith !== undefined;
}

/** If an application loses `offline_access` by mistake, its refresh tokens work again once it is restored. */
function requireOffline({ application }: Exchange): void {
  if (mayUseRefreshTokens(application, { scopes: ['offline_access'] })) return;
  throw oauthError('invalid_grant', 'The refresh token is not valid.', 'offline_access_withdrawn');
}

const audited: ReadonlySet<RotationError> = new Set(['client_mismatch', 'reuse_detected']);

/** An unknown, expired, revoked, reused or foreign token gets one and the same response. */
function rotationError(kind: RotationError): OAuthError {
  if (kind === 'scope_exceeded') {
    return oauthError('invalid_scope', 'The scope exceeds what was originally granted.', kind);
  }
  if (kind === 'resource_mismatch') {
    return oauthError('invalid_target', 'The resource is not the one of the original grant.', kind);
  }
  return oauthError('invalid_grant', 'The refresh token is not valid.', kind, { audited: audited.has(kind) });
}
