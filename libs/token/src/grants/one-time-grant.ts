import type { Kit } from '@tessera/process';
import type { OAuthError } from '@tessera/oauth';
import { mayUseRefreshTokens } from '../client-authentication.ts';
import { newFamilyId } from '../refresh-token-format.ts';
import { refuse } from '../audit-reason.ts';
import type { RefreshTokenCodec } from '../refresh-token-format.ts';
import type { NewFamily, RedemptionKind, RedemptionStore } from '../store/store.ts';
import type { Exchange, IssuedFacts, PersonalGrant, Redemption } from './grant.ts';

/** What the grants of one-time values share: code, device code, auth_req_id. */
export interface OneTimeParts {
  readonly kit: Pick<Kit, 'random' | 'failpoint'>;
  readonly redemptions: RedemptionStore;
  readonly refreshTokens: RefreshTokenCodec;
  /** Defaults for applications without lifetimes of their own, in seconds. */
  readonly refreshIdleSeconds: number;
  readonly refreshAbsoluteSeconds: number;
}

export interface OneTimeValue {
  readonly kind: RedemptionKind;
  /** SHA-256 of the value: the key of its marker. */
  readonly hash: Uint8Array;
  readonly person: PersonalGrant;
  /** Name of the failpoints around the commit. */
  readonly failpoint: string;
}

export interface OneTimeRedemption extends Redemption {
  /** What `commit` will hand out, worth nothing before it; undefined when there is none. */
  readonly refreshToken: string | undefined;
}

/**
 * A one-time value whose owner asks for tokens. Nothing is used up before `commit`: until then every failure leaves the
 * value as it was. The marker decides between racing redemptions, and a code that comes back ends what it started
 * (RFC 6749 §4.1.2).
 */
export function oneTimeRedemption(
  parts: OneTimeParts,
  exchange: Exchange,
  value: OneTimeValue,
): OneTimeRedemption {
  const family = mayRefresh(exchange, value.person) ? newFamily(parts, exchange, value.person) : undefined;
  const refreshToken = family && parts.refreshTokens.encode({ familyId: family.familyId, generation: 1 });
  return {
    person: value.person,
    refreshToken,
    async commit(issued) {
      // The value works once: it must not be used up for an answer that nobody hears.
      exchange.requireAwaited();
      parts.kit.failpoint(`${value.failpoint}.before_commit`);
      const outcome = await parts.redemptions.redeem({
        tenantId: exchange.application.tenantId,
        clientId: exchange.application.clientId,
        userId: value.person.userId,
        sessionId: value.person.sessionId,
        kind: value.kind,
        hash: value.hash,
        family,
        trail: { ...exchange.trail, details: deliveryDetails(exchange, issued) },
      });
      parts.kit.failpoint(`${value.failpoint}.after_commit`);
      if (outcome === 'replayed') throw replayed();
      if (outcome === 'session_ended') {
        throw refuse('invalid_grant', 'The grant is not valid.', 'session_ended');
      }
      return refreshToken;
    },
  };
}

/** A value that was redeemed before; the store has written its audit row. */
export function replayed(): OAuthError {
  return refuse('invalid_grant', 'The grant is not valid.', 'replayed', { audited: true });
}

/** A refresh token needs `offline_access`, granted by the person too. */
function mayRefresh({ application }: Exchange, person: PersonalGrant): boolean {
  return person.scopes.includes('offline_access') && mayUseRefreshTokens(application);
}

function newFamily(parts: OneTimeParts, { application }: Exchange, grant: PersonalGrant): NewFamily {
  return {
    familyId: newFamilyId(parts.kit.random),
    grant,
    idleSeconds: application.lifetimes?.refreshTokenIdle || parts.refreshIdleSeconds,
    absoluteSeconds: application.lifetimes?.refreshTokenAbsolute || parts.refreshAbsoluteSeconds,
  };
}

/** What the audit row of a delivered token says about it; never the token. */
export function deliveryDetails(exchange: Exchange, issued: IssuedFacts): Record<string, string> {
  return {
    grantType: exchange.request.grantType,
    jti: exchange.tokenId,
    scope: issued.scopes.join(' '),
    audience: issued.audience,
  };
}
