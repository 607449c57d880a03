import { hash } from 'node:crypto';
import { leftHash } from '@tessera/oauth';
import type { ApprovedPush } from '@tessera/proto-gen/device';
import type { ExtraClaims, Grant } from '../grants/grant.ts';
import { oneTimeRedemption, type OneTimeParts } from '../grants/one-time-grant.ts';
import { refuse } from '../audit-reason.ts';

export const requestIdClaim = 'urn:openid:params:jwt:claim:auth_req_id';
export const refreshTokenHashClaim = 'urn:openid:params:jwt:claim:rt_hash';

/**
 * CIBA Core §10.3: an approval that `device` handed out, for a client that never asks for it. The marker and everything that
 * is checked are those of the polled grant. The ID token binds together what is pushed (§10.3.1), so there is none without it.
 */
export function pushGrant(parts: OneTimeParts, { authReqId, grant }: ApprovedPush): Grant {
  return {
    name: 'ciba',
    parameters: [],
    async redeem(exchange) {
      if (grant === undefined) throw new Error('a push was handed out without a grant');
      const person = { ...grant, authTime: Number(grant.authTime), nonce: '' };
      const value = { kind: 'auth_req_id', hash: secretHash(authReqId), person, failpoint: 'push' } as const;
      const redemption = oneTimeRedemption(parts, exchange, value);
      return {
        ...redemption,
        idTokenClaims: bindingClaims(authReqId, redemption.refreshToken),
        async commit(issued) {
          if (!issued.scopes.includes('openid')) {
            throw refuse('invalid_scope', 'The scope openid is not granted any more.', 'scope_withdrawn');
          }
          return redemption.commit(issued);
        },
      };
    },
  };
}

export function secretHash(authReqId: string): Buffer {
  return hash('sha256', authReqId, 'buffer');
}

function bindingClaims(authReqId: string, refreshToken: string | undefined): ExtraClaims {
  return {
    [requestIdClaim]: authReqId,
    ...(refreshToken !== undefined && { [refreshTokenHashClaim]: leftHash(refreshToken) }),
  };
}
