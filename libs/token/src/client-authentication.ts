import type { ClientCredentials, DirectoryClient } from '@tessera/directory-client';
import type { AuditBatch } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import type { OAuthError } from '@tessera/oauth';
import { ApplicationType, type Application } from '@tessera/proto-gen/directory';
import {
  ClientAuthenticationMethod,
  type Caller,
  type ClientCredentials as CredentialsMessage,
} from '@tessera/proto-gen/token';
import { auditDenied, oauthError } from './audit.ts';

/** Converts the credentials of a message. An empty secret without a method means that no secret was sent. */
export function clientCredentialsOf({
  clientId,
  clientSecret,
  method,
}: CredentialsMessage): ClientCredentials {
  if (method === ClientAuthenticationMethod.CLIENT_SECRET_BASIC) {
    return { clientId, clientSecret, method: 'client_secret_basic' };
  }
  if (method === ClientAuthenticationMethod.CLIENT_SECRET_POST || clientSecret !== '') {
    return { clientId, clientSecret, method: 'client_secret_post' };
  }
  return { clientId, clientSecret: undefined, method: 'none' };
}

/** Whether the application is a confidential client (RFC 6749 §2.1). */
export function isConfidential(application: Application): boolean {
  return application.type === ApplicationType.CONFIDENTIAL;
}

/**
 * Authenticates the client of an introspection or revocation request and audits a failure. Throws `invalid_client` also
 * for an application that `admits` rejects. (The token endpoint audits every error by itself.)
 */
export async function authenticateClient(
  { directory, audit }: { directory: DirectoryClient; audit: Pick<AuditBatch, 'add'> },
  { credentials, caller }: { credentials: CredentialsMessage; caller?: Caller | undefined },
  context: CallContext,
  admits: (application: Application) => boolean,
): Promise<Application> {
  const ipAddress = caller?.ipAddress ?? '';
  return auditDenied(audit, { clientId: credentials.clientId, ipAddress }, context, async () => {
    const presented = clientCredentialsOf(credentials);
    const { application } = await directory.authenticateClient(presented, { ipAddress }, context.onward());
    if (!admits(application)) throw invalidClient('public_client');
    return application;
  });
}

/** The one response to a client that is unknown, not authenticated or not active (RFC 6749 §5.2). */
export function invalidClient(reason: string): OAuthError {
  return oauthError('invalid_client', 'Client authentication failed.', reason);
}
