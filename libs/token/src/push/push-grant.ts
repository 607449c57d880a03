import { notUnderstood } from '@tessera/rpc';
import { hash } from 'node:crypto';
import { leftHash } from '@tessera/oauth';
import type { ApprovedPush } from '@tessera/proto-gen/device';
import { userGrantOf } from '../pipeline/flat-grants.ts';
import type { ExtraClaims, Grant } from '../pipeline/grant-table.ts';
import { oneTimeRedemption, type OneTimeDeps } from '../pipeline/one-time-redemption.ts';
import { oauthError } from '../audit.ts';

export const requestIdClaim = 'urn:openid:params:jwt:claim:auth_req_id';
export const refreshTokenHashClaim = 'urn:openid:params:jwt:claim:rt_hash';

/**
 * CIBA Core §10.3: the grant of an approved request whose tokens are pushed to the client. Marker and checks are those of the polled
 * grant. With `openid` the ID token binds the pushed tokens together (§10.3.1), so it must not be missing.
 */
export function pushGrant(deps: OneTimeDeps, { authReqId, ...push }: ApprovedPush): Grant {
  return {
    name: 'ciba',
    parameters: [],
    async redeem(exchange) {
      const userGrant = userGrantOf(push, push);
      if (userGrant === undefined) throw notUnderstood('a push without a grant');
      const value = {
        kind: 'auth_req_id',
        hash: secretHash(authReqId),
        userGrant,
        failpoint: 'push',
      } as const;
      const redemption = oneTimeRedemption(deps, exchange, value);
      return {
        ...redemption,
        idTokenClaims: bindingClaims(authReqId, redemption.refreshToken),
        async commit(issued) {
          if (userGrant.scopes.includes('openid') && !issued.scopes.includes('openid')) {
            throw oauthError('invalid_scope', 'The scope openid is no longer granted.', 'scope_withdrawn');
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
