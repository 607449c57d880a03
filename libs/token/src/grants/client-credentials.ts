import type { AuditBatch } from '@tessera/audit';
import { isConfidential } from '../authenticate-client.ts';
import { oauthError } from '../audit.ts';
import type { Grant } from '../pipeline/grant-table.ts';
import { issuedDetails } from '../pipeline/one-time-redemption.ts';

/** RFC 6749 §4.4: a confidential client on its own behalf. No state changes, so the audit row goes to the batch. */
export function clientCredentialsGrant(audit: Pick<AuditBatch, 'add'>): Grant {
  return {
    name: 'client_credentials',
    parameters: [],
    permit({ application }) {
      if (isConfidential(application)) return;
      const message = 'Only a confidential client may use the client credentials grant.';
      throw oauthError('unauthorized_client', message, 'public_client');
    },
    redeem: async (exchange) => ({
      userGrant: undefined,
      commit: async (issued) => {
        const { clientId, tenantId } = exchange.application;
        audit.add({
          event: 'token.issued',
          outcome: 'success',
          tenantId,
          clientId,
          subject: clientId,
          actor: { type: 'client', id: clientId },
          requestId: exchange.trail.requestId,
          ipAddress: exchange.trail.ipAddress,
          details: issuedDetails(exchange, issued),
        });
        return undefined;
      },
    }),
  };
}
