import type { AcceptedClients, DirectoryClient } from '@tessera/directory-client';
import type { AuditBatch } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import type { OAuthError } from '@tessera/oauth';
import { ApplicationType, type Application } from '@tessera/proto-gen/directory';
import type { Caller, ClientCredentials } from '@tessera/proto-gen/token';
import { auditDenied, oauthError } from './audit.ts';
import { requestedAt } from './requested-issuer.ts';

/** Whether the application is a confidential client (RFC 6749 §2.1). */
export function isConfidential(application: Application): boolean {
  return application.type === ApplicationType.CONFIDENTIAL;
}

/**
 * Authenticates the client of an introspection or revocation request and audits a failure. (The token endpoint audits every
 * error by itself.)
 */
export async function authenticateClient(
  { directory, audit }: { directory: DirectoryClient; audit: Pick<AuditBatch, 'add'> },
  { credentials, caller }: { credentials: ClientCredentials; caller?: Caller | undefined },
  context: CallContext,
  accepts: AcceptedClients,
): Promise<Application> {
  const ipAddress = caller?.ipAddress ?? '';
  return auditDenied(audit, { clientId: credentials.clientId, ipAddress }, context, async () => {
    const from = { ipAddress, accepts, at: requestedAt(caller) };
    const { application } = await directory.authenticateClient(credentials, from, context.onward());
    return application;
  });
}

/** The one response to a client that is unknown, not authenticated or not active (RFC 6749 §5.2). */
export function invalidClient(reason: string): OAuthError {
  return oauthError('invalid_client', 'Client authentication failed.', reason);
}
