import { issuesLikeKeycloak } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/directory';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type {
  RefreshTokenClaims,
  RefreshTokenCodec,
  RefreshTokenReference,
} from '../refresh-token-format.ts';
import type { TokenTimes } from '../store/store.ts';
import { isOfSession } from '../usable.ts';
import type { LiveSession } from '../verification/sessions-of-families.ts';
import type { Exchange, RefreshTokenAnswer } from './grant-table.ts';

/** What applications of a tenant expect of refresh tokens. */
export interface RefreshTokenStyle {
  /** Whether they get one for as long as the session lives, without `offline_access`. */
  readonly ofSessions: boolean;
  /** The refresh token of an answer. */
  answer(reference: RefreshTokenReference, grant: UserGrant, times: TokenTimes): RefreshTokenAnswer;
}

/**
 * That of the tenant: applications that were made for Keycloak, at an issuer with its endpoints, read the refresh token
 * as a JWT and expect one without asking for it; all others get an opaque value.
 */
export function refreshTokenStyle(
  { refreshTokens }: { readonly refreshTokens: RefreshTokenCodec },
  { tenant }: Pick<Exchange, 'tenant'>,
): RefreshTokenStyle {
  const isLikeKeycloak = issuesLikeKeycloak(tenant);
  return {
    ofSessions: isLikeKeycloak,
    answer(reference, grant, times) {
      // The family of a session was started for such an application, whatever the tenant has declared since.
      if (!isLikeKeycloak && !isOfSession(grant))
        return { token: refreshTokens.encode(reference), expiresIn: 0 };
      const token = refreshTokens.encode(reference, claimsOf(reference, grant, times));
      return { token, expiresIn: Math.max(0, times.expiresAt - times.issuedAt) };
    },
  };
}

/** Seconds without use after which a refresh token of a session expires: as the session, or as its application says. */
export function idleSecondsOf({ idleSeconds }: LiveSession, { lifetimes }: Application): number {
  return Math.min(idleSeconds, lifetimes?.sessionRefreshTokenIdle || Infinity);
}

function claimsOf(
  { familyId, generation }: RefreshTokenReference,
  grant: UserGrant,
  { issuedAt, expiresAt }: TokenTimes,
): RefreshTokenClaims {
  return {
    typ: isOfSession(grant) ? 'Refresh' : 'Offline',
    exp: expiresAt,
    iat: issuedAt,
    jti: `${familyId}.${generation}`,
    iss: grant.issuer,
    aud: grant.issuer,
    sub: grant.userId,
    azp: grant.clientId,
    ...(grant.sessionId !== '' && { sid: grant.sessionId }),
    scope: grant.scopes.join(' '),
    // Before version 24, `keycloak-js` looks for it in the first token of each kind.
    ...(grant.nonce !== '' && { nonce: grant.nonce }),
  };
}
