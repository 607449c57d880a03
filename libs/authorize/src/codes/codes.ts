import { hash } from 'node:crypto';
import { opaqueValue } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import type { ClientRedirect } from '@tessera/oauth';
import {
  authorizationResponse,
  codeChallenge,
  isCodeVerifier,
  OAuthError,
  receivedUri,
  type Refusal,
} from '@tessera/oauth';
import { UserGrantSchema, type UserGrant } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import { digest } from '../browser-call.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { AuthorizeAudit } from '../audit.ts';
import { invalidContext } from '../visits/visits.ts';
import type { CheckedRequest } from '../request/request.ts';
import { longestCodeLifetimeSeconds } from '../store/visit-store.ts';
import type { CodeStore } from '../store/visit-store.ts';
import type { Session, SessionStore } from '../store/session-store.ts';
import type { EndingVisit } from '../store/visit-store.ts';

/** A redemption by an authenticated client, as `token` sends it. */
export interface CodeRequest {
  readonly code: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
  /** Whether the client authenticated with a secret. */
  readonly confidential: boolean;
  readonly ipAddress: string;
  readonly requestId: string;
}

export interface RedeemedCode {
  readonly grant: UserGrant;
  /** Key of the redemption marker in `token`. */
  readonly codeHash: Buffer;
  /** It was presented correctly before. */
  readonly takenBefore: boolean;
  /**
   * It was burnt since, or is burnt now by its second use: `token` issues nothing and revokes what the first use
   * issued.
   */
  readonly burnt: boolean;
}

export interface IssuedCode {
  /** The response to the client. */
  readonly redirect: ClientRedirect;
  /** Hexadecimal SHA-256; empty if the response is an error. */
  readonly codeHash: string;
}

/** The visit that ends with a code, whose digest it is given. */
export type EndingWith = (codeHash: string) => EndingVisit;

export interface Codes {
  /**
   * Issues a code for a session and returns the response to the client; undefined if the session has ended meanwhile.
   * @param ending the visit that ends with the code, by its digest; throws `invalid_request` if it has ended before
   */
  issue(
    from: BrowserCall,
    request: CheckedRequest,
    session: Session,
    ending?: EndingWith,
  ): Promise<IssuedCode | undefined>;
  /** Makes a code void. Throws `invalid_request` if its client has presented it, or it has expired. */
  withdraw(codeHash: string): Promise<void>;
  /**
   * Redeems a code (RFC 6749 §4.1.3, RFC 7636 §4.6). Throws the same `invalid_grant` for every failure. A correct
   * presentation succeeds again while the code lives: the durable marker of `token` decides which one counts and
   * detects replays, so a process that dies before that commit costs the client only a retry.
   */
  redeem(request: CodeRequest): Promise<RedeemedCode>;
}

const codeShape = /^tc_[A-Za-z0-9_-]{43}$/;

export function createCodes(deps: {
  readonly store: CodeStore;
  readonly sessions: Pick<SessionStore, 'participate'>;
  readonly audit: AuthorizeAudit;
  readonly random: Random;
  readonly failpoint: (name: string) => void;
  /** Lifetime of a code unless its application sets one. */
  readonly lifetimeSeconds: number;
}): Codes {
  const { store, sessions, audit, random, failpoint, lifetimeSeconds } = deps;

  /** Whether the session is live, for an application that is notified of its end (OIDC Back-Channel Logout). */
  const remember = async ({ record, issuer }: CheckedRequest, { sessionId }: Session): Promise<boolean> => {
    const { clientId, backchannelLogoutUri } = record.application;
    return backchannelLogoutUri === '' || sessions.participate(sessionId, { clientId, issuer });
  };

  return {
    async issue(from, request, session, ending) {
      const code = opaqueValue('tc_', random);
      const grant = grantOf(request, session);
      if (!(await remember(request, session))) return undefined;
      const { codeChallenge, redirectUri, responseMode, state, clientId } = request.form;
      const own = request.record.application.lifetimes?.authorizationCode || lifetimeSeconds;
      const lifetime = Math.min(own, longestCodeLifetimeSeconds);
      const codeHash = digest(code);
      const record = { grant, codeChallenge, redirectUri };
      const saved = await store.save(codeHash, record, lifetime, ending?.(codeHash));
      if (saved === 'session_ended') return undefined;
      if (saved === 'visit_ended') throw invalidContext('already used');
      audit.codeIssued(from, grant, reference(codeHash));
      const { issuer } = request;
      const response = { outcome: { code }, responseMode, state, issuer, clientId };
      return { redirect: authorizationResponse(redirectUri, response), codeHash };
    },

    async withdraw(codeHash) {
      if (!(await store.withdraw(codeHash))) throw invalidContext('its code was used or has expired');
    },

    async redeem(request) {
      if (!codeShape.test(request.code)) throw invalidGrant('malformed code');
      const codeHash = digest(request.code);
      const redemption = await store.redeem(codeHash, {
        tenantId: request.tenantId,
        clientId: request.clientId,
        codeChallenge: presentedChallenge(request.codeVerifier),
        redirectUri: request.redirectUri,
        confidential: request.confidential,
      });
      if (redemption.outcome !== 'granted') {
        const refusal = receivedOf(redemption.outcome, request.redirectUri);
        audit.codeRefused(request, redemption.outcome, reference(codeHash), refusal);
        throw invalidGrant(redemption.outcome, refusal);
      }
      failpoint('code.taken');
      const { grant, takenBefore, burnt } = redemption;
      return { grant, codeHash: hash('sha256', request.code, 'buffer'), takenBefore, burnt };
    },
  };
}

function grantOf(request: CheckedRequest, session: Session): UserGrant {
  return create(UserGrantSchema, {
    tenantId: session.tenantId,
    clientId: request.record.application.clientId,
    userId: session.userId,
    scopes: [...request.scopes],
    resource: request.resource,
    issuer: request.issuer,
    sessionId: session.sessionId,
    authentication: session.authentication,
    nonce: request.form.nonce ?? '',
    userinfoClaims: [...request.claims.userinfo],
    idTokenClaims: [...request.claims.idToken],
  });
}

/**
 * Empty without a verifier, which matches a code that was issued without a challenge, and no other. A verifier for such
 * a code is refused too (RFC 9700 §4.8.2), and so is a malformed one always.
 */
function presentedChallenge(verifier: string): string {
  if (verifier === '') return '';
  return isCodeVerifier(verifier) ? codeChallenge(verifier) : 'malformed';
}

/** The name of a code in audit rows. */
function reference(codeHash: string): string {
  return codeHash.slice(0, 8);
}

function receivedOf(outcome: string, redirectUri: string): Refusal {
  if (outcome !== 'wrong_redirect_uri') return {};
  const hint = 'It must be the redirect URI of the authorization request.';
  return { received: receivedUri(redirectUri), hint };
}

function invalidGrant(cause: string, refusal: Refusal = {}): OAuthError {
  return new OAuthError('invalid_grant', 'The authorization code is invalid, expired or already used.', {
    cause,
    refusal: { ...refusal, reason: cause },
  });
}
