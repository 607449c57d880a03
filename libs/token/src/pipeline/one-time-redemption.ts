import type { Runtime } from '@tessera/process';
import type { OAuthError } from '@tessera/oauth';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import { oauthError } from '../audit.ts';
import { newFamilyId, type RefreshTokenCodec } from '../refresh-token-format.ts';
import type { RevokedAccessTokens } from '../verification/revoked-access-tokens.ts';
import type { NewFamily, RedemptionKind, RedemptionStore, Replay } from '../store/store.ts';
import type { Exchange, IssuedToken, Redemption } from './grant-table.ts';
import { mayUseRefreshTokens } from '../usable.ts';

/** Shared by the grants with a one-time value: code, device code, auth_req_id. */
export interface OneTimeDeps {
  readonly runtime: Pick<Runtime, 'random' | 'failpoint'>;
  readonly redemptions: RedemptionStore;
  readonly revokedAccessTokens: Pick<RevokedAccessTokens, 'add'>;
  readonly refreshTokens: RefreshTokenCodec;
  /** Defaults for applications without lifetimes of their own, in seconds. */
  readonly refreshIdleSeconds: number;
  readonly refreshAbsoluteSeconds: number;
}

export interface OneTimeValue {
  readonly kind: RedemptionKind;
  /** SHA-256 of the value: the key of its redemption marker. */
  readonly hash: Uint8Array;
  readonly userGrant: UserGrant;
  /** Name of the failpoints before and after the commit. */
  readonly failpoint: string;
}

/**
 * The redemption of a one-time value. Nothing is consumed before `commit`, so the client can retry after any earlier
 * failure. The marker in Postgres decides between concurrent redemptions. A replayed code revokes the tokens issued for
 * it (RFC 6749 §4.1.2).
 */
export function oneTimeRedemption(deps: OneTimeDeps, exchange: Exchange, value: OneTimeValue): Redemption {
  const family = mayRefresh(exchange, value.userGrant)
    ? newFamily(deps, exchange, value.userGrant)
    : undefined;
  const refreshToken = family && deps.refreshTokens.encode({ familyId: family.familyId, generation: 1 });
  return {
    userGrant: value.userGrant,
    async commit(issued) {
      deps.runtime.failpoint(`${value.failpoint}.before_commit`);
      const outcome = await deps.redemptions.redeem({
        tenantId: exchange.application.tenantId,
        clientId: exchange.application.clientId,
        userId: value.userGrant.userId,
        sessionId: value.userGrant.sessionId,
        kind: value.kind,
        hash: value.hash,
        family,
        accessToken: { tokenId: exchange.tokenId, audience: issued.audience },
        trail: { ...exchange.trail, details: issuedDetails(exchange, issued) },
        // The value works once, so it must not be consumed for a response that is not received.
        throwIfAborted: exchange.throwIfAborted,
      });
      deps.runtime.failpoint(`${value.failpoint}.after_commit`);
      if (outcome.kind === 'replayed') throw replayed(deps, outcome);
      if (outcome.kind === 'session_ended') {
        throw oauthError('invalid_grant', 'The grant is not valid.', 'session_ended');
      }
      return refreshToken;
    },
  };
}

/** The error for a value that was redeemed before. The store has written its audit row. */
export function replayed(
  { revokedAccessTokens }: Pick<OneTimeDeps, 'revokedAccessTokens'>,
  { revokedTokenId }: Replay,
): OAuthError {
  if (revokedTokenId !== undefined) revokedAccessTokens.add(revokedTokenId);
  return oauthError('invalid_grant', 'The grant is not valid.', 'replayed', { audited: true });
}

/** A refresh token requires `offline_access`, available to the application and granted by the user. */
function mayRefresh({ application }: Exchange, grant: UserGrant): boolean {
  return grant.scopes.includes('offline_access') && mayUseRefreshTokens(application);
}

function newFamily(deps: OneTimeDeps, { application }: Exchange, grant: UserGrant): NewFamily {
  return {
    familyId: newFamilyId(deps.runtime.random),
    grant: { ...grant, nonce: '' },
    idleSeconds: application.lifetimes?.refreshTokenIdle || deps.refreshIdleSeconds,
    absoluteSeconds: application.lifetimes?.refreshTokenAbsolute || deps.refreshAbsoluteSeconds,
  };
}

/** Details of an issued access token for its audit row, without the token itself. */
export function issuedDetails(exchange: Exchange, issued: IssuedToken): Record<string, string> {
  return {
    grantType: exchange.request.grantType,
    jti: exchange.tokenId,
    scope: issued.scopes.join(' '),
    audience: issued.audience,
  };
}
