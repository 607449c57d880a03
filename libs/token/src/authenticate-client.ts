import { refusedClient, type AcceptedClients, type DirectoryClient } from '@tessera/directory-client';
import type { AuditBatch } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { ApplicationType, type Application } from '@tessera/proto-gen/directory';
import type { Caller, ClientCredentials } from '@tessera/proto-gen/token';
import { auditDenied, auditReasonOf, clientIdOf, oauthError } from './audit.ts';
import { requestedAt } from './requested-issuer.ts';

/** Whether the application is a confidential client (RFC 6749 §2.1). */
export function isConfidential(application: Application): boolean {
  return application.type === ApplicationType.CONFIDENTIAL;
}

/**
 * Authenticates the client of an introspection or revocation request; audits a failure and tells the gateway's log who
 * was refused and why. (The token endpoint does both for every error by itself.)
 */
export async function authenticateClient(
  { directory, audit }: { directory: DirectoryClient; audit: Pick<AuditBatch, 'add'> },
  { credentials, caller }: { credentials: ClientCredentials; caller?: Caller | undefined },
  context: CallContext,
  accepts: AcceptedClients,
): Promise<Application> {
  const ipAddress = caller?.ipAddress ?? '';
  const { clientId } = credentials;
  try {
    return await auditDenied(audit, { clientId, ipAddress }, context, async () => {
      const from = { ipAddress, accepts, at: requestedAt(caller) };
      const { application } = await directory.authenticateClient(credentials, from, context.onward());
      return application;
    });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const named = clientIdOf(error) ?? clientId;
    throw refusedClient(error, directory, { clientId: named, phase: 'client', reason: auditReasonOf(error) });
  }
}

/** The one response to a client that is unknown, not authenticated or not active (RFC 6749 §5.2). */
export function invalidClient(reason: string): OAuthError {
  return oauthError('invalid_client', 'Client authentication failed.', reason);
}
