import type { Client } from '@tessera/rpc';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import { isConfidential } from '../client-authentication.ts';
import { refuse } from '../audit-reason.ts';
import type { Grant } from './grant.ts';
import { oneTimeRedemption, replayed, type OneTimeParts } from './one-time-grant.ts';

/**
 * RFC 6749 §4.1.3 with RFC 7636 §4.5: the code, its redirect URI and its verifier, for every client. Whether a code that
 * comes back is a replay (RFC 6749 §4.1.2) is settled before anything else can refuse the request; after a crash before
 * the commit it is a retry.
 */
export function authorizationCodeGrant(
  authorize: Client<typeof AuthorizeService>,
  parts: OneTimeParts,
): Grant {
  return {
    name: 'authorization_code',
    parameters: ['code', 'code_verifier', 'redirect_uri'],
    async redeem(exchange) {
      const { request, application } = exchange;
      const { grant, codeHash, takenBefore, burnt } = await authorize.redeemCode(
        {
          code: request.code,
          codeVerifier: request.codeVerifier,
          redirectUri: request.redirectUri,
          clientId: application.clientId,
          tenantId: application.tenantId,
          confidential: isConfidential(application),
          ipAddress: exchange.trail.ipAddress,
        },
        exchange.call(),
      );
      if (grant?.clientId !== application.clientId || grant.tenantId !== application.tenantId) {
        throw refuse('invalid_grant', 'The authorization code is not valid.', 'client_mismatch');
      }
      const { tenantId, clientId } = application;
      const presented = { tenantId, clientId, kind: 'authorization_code', hash: codeHash } as const;
      const comesBack = takenBefore || burnt;
      if (comesBack && (await parts.redemptions.findReplay({ ...presented, trail: exchange.trail }))) {
        throw replayed();
      }
      if (burnt) throw refuse('invalid_grant', 'The authorization code is not valid.', 'burnt');
      const person = { ...grant, authTime: Number(grant.authTime) };
      return oneTimeRedemption(parts, exchange, {
        ...presented,
        person,
        failpoint: 'code',
      });
    },
  };
}
