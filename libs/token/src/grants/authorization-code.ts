import type { Client } from '@tessera/rpc';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import { isConfidential } from '../authenticate-client.ts';
import { oauthError } from '../audit.ts';
import { missingParameter, type Grant } from '../pipeline/grant-table.ts';
import { oneTimeRedemption, replayed, type OneTimeDeps } from '../pipeline/one-time-redemption.ts';

/**
 * RFC 6749 §4.1.3 with RFC 7636 §4.5: every client sends code and redirect URI, and the verifier unless PKCE is
 * optional for it. If a code is presented again, the replay check (RFC 6749 §4.1.2) comes before every other check.
 * After a crash before the commit the second presentation is a retry.
 */
export function authorizationCodeGrant(authorize: Client<typeof AuthorizeService>, deps: OneTimeDeps): Grant {
  return {
    name: 'authorization_code',
    parameters: ['code', 'redirect_uri'],
    permit({ request, application }) {
      if (request.codeVerifier === '' && !application.pkceOptional) throw missingParameter('code_verifier');
    },
    async redeem(exchange) {
      const { request, application } = exchange;
      const { codeHash, takenBefore, burnt, userGrant } = await authorize.redeemCode(
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
      if (userGrant?.clientId !== application.clientId || userGrant.tenantId !== application.tenantId) {
        throw oauthError('invalid_grant', 'The authorization code is not valid.', 'client_mismatch');
      }
      const { tenantId, clientId } = application;
      const presented = { tenantId, clientId, kind: 'authorization_code', hash: codeHash } as const;
      const presentedBefore = takenBefore || burnt;
      // A request that was given up may come after its own retry, and would look like a replay.
      const { trail, throwIfAborted } = exchange;
      const replay =
        presentedBefore && (await deps.redemptions.findReplay({ ...presented, trail, throwIfAborted }));
      if (replay) throw replayed(deps, replay);
      if (burnt) throw oauthError('invalid_grant', 'The authorization code is not valid.', 'burnt');
      return oneTimeRedemption(deps, exchange, {
        ...presented,
        userGrant,
        failpoint: 'code',
      });
    },
  };
}
