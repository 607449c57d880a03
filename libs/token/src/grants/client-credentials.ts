import type { AuditBatch } from '@tessera/audit';
import { isConfidential } from '../client-authentication.ts';
import { refuse } from '../audit-reason.ts';
import type { Grant } from './grant.ts';
import { deliveryDetails } from './one-time-grant.ts';

/** RFC 6749 §4.4: a confidential client for itself. Changes no state, so its audit row is written with others. */
export function clientCredentialsGrant(audit: Pick<AuditBatch, 'add'>): Grant {
  return {
    name: 'client_credentials',
    parameters: [],
    permit({ application }) {
      if (isConfidential(application)) return;
      const message = 'Only a confidential client may use the client credentials grant.';
      throw refuse('unauthorized_client', message, 'public_client');
    },
    redeem: async (exchange) => ({
      person: undefined,
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
          details: deliveryDetails(exchange, issued),
        });
        return undefined;
      },
    }),
  };
}
