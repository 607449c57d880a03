import type { AuditBatch } from '@tessera/audit';
import { isConfidential } from '../authenticate-client.ts';
import { oauthError } from '../audit.ts';
import type { Grant } from '../pipeline/grant-table.ts';
import { issuedDetails } from '../pipeline/one-time-redemption.ts';

type Ways = Pick<Grant, 'name' | 'parameters' | 'identifies'>;

/** RFC 6749 §4.4: a confidential client on its own behalf. */
export function clientCredentialsGrant(audit: Pick<AuditBatch, 'add'>): Grant {
  return onOwnBehalf(audit, { name: 'client_credentials', parameters: [] });
}

/** RFC 7523 §2.1: a workload that proves to be an application by a token of an issuer that this one trusts. */
export function jwtBearerGrant(audit: Pick<AuditBatch, 'add'>): Grant {
  return onOwnBehalf(audit, { name: 'jwt_bearer', parameters: ['assertion'], identifies: true });
}

/** No state changes, so the audit row goes to the batch. */
function onOwnBehalf(audit: Pick<AuditBatch, 'add'>, ways: Ways): Grant {
  return {
    ...ways,
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
