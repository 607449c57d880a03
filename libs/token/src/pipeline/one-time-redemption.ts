import type { Runtime } from '@tessera/process';
import type { OAuthError } from '@tessera/oauth';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import { whereOffered } from '@tessera/rpc';
import { oauthError } from '../audit.ts';
import { newFamilyId, type RefreshTokenCodec } from '../refresh-token-format.ts';
import type { LiveSessions } from '../verification/sessions-of-families.ts';
import type { RevokedAccessTokens } from '../verification/revoked-access-tokens.ts';
import type { NewFamily, RedemptionKind, RedemptionStore, Replay } from '../store/store.ts';
import type { Exchange, IssuedToken, Redemption } from './grant-table.ts';
import { idleSecondsOf, refreshTokenStyle, type RefreshTokenStyle } from './refresh-token-answer.ts';
import { isOfSession, mayUseRefreshTokens } from '../usable.ts';

/** Shared by the grants with a one-time value: code, device code, auth_req_id. */
export interface OneTimeDeps {
  readonly runtime: Pick<Runtime, 'random' | 'failpoint'>;
  readonly redemptions: RedemptionStore;
  readonly revokedAccessTokens: Pick<RevokedAccessTokens, 'add'>;
  readonly refreshTokens: RefreshTokenCodec;
  readonly sessions: Pick<LiveSessions, 'use'>;
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
export async function oneTimeRedemption(
  deps: OneTimeDeps,
  exchange: Exchange,
  value: OneTimeValue,
): Promise<Redemption> {
  const { userGrant } = value;
  const style = refreshTokenStyle(deps, exchange);
  const family = await newFamily(deps, exchange, userGrant, style);
  return {
    userGrant,
    async commit(issued) {
      deps.runtime.failpoint(`${value.failpoint}.before_commit`);
      const outcome = await deps.redemptions.redeem({
        tenantId: exchange.application.tenantId,
        clientId: exchange.application.clientId,
        userId: userGrant.userId,
        sessionId: userGrant.sessionId,
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
      if (family === undefined || outcome.times === undefined) return undefined;
      return style.answer({ familyId: family.familyId, generation: 1 }, userGrant, outcome.times);
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

/**
 * The family to start; undefined for no refresh token. It takes `offline_access`, available to the application and
 * granted by the user, or a session that lives, where applications expect a refresh token of it. That family ends with
 * the session at the latest.
 */
async function newFamily(
  deps: OneTimeDeps,
  { application, call }: Exchange,
  grant: UserGrant,
  { ofSessions }: RefreshTokenStyle,
): Promise<NewFamily | undefined> {
  if (!mayUseRefreshTokens(application, grant)) return undefined;
  const { tenantId, sessionId } = grant;
  const started = { familyId: newFamilyId(deps.runtime.random), grant: { ...grant, nonce: '' } };
  const { lifetimes } = application;
  if (!isOfSession(grant)) {
    return {
      ...started,
      idleSeconds: lifetimes?.refreshTokenIdle || deps.refreshIdleSeconds,
      absoluteSeconds: lifetimes?.refreshTokenAbsolute || deps.refreshAbsoluteSeconds,
    };
  }
  if (!ofSessions || sessionId === '') return undefined;
  // Compatibility until 0.4: an `authorize` process of version 0.2 does not know the call.
  const session = await whereOffered(deps.sessions.use(tenantId, sessionId, call()), () => undefined);
  if (session === undefined) return undefined;
  return {
    ...started,
    idleSeconds: idleSecondsOf(session, application),
    absoluteSeconds: Math.min(session.remainingSeconds, lifetimes?.sessionRefreshTokenAbsolute || Infinity),
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
