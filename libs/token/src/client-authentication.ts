import type { ClientCredentials, DirectoryClient } from '@tessera/directory-client';
import type { AuditBatch } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import { ApplicationType, type Application } from '@tessera/proto-gen/directory';
import { auditDenial } from './denied-requests.ts';
import { Refusal } from './audit-reason.ts';
import {
  ClientAuthenticationMethod,
  type Caller,
  type ClientCredentials as CredentialsMessage,
} from '@tessera/proto-gen/token';
import { OAuthError } from '@tessera/oauth';

/** Credentials as the directory client takes them. An empty secret without a method is no secret. */
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

export function isConfidential(application: Application): boolean {
  return application.type === ApplicationType.CONFIDENTIAL;
}

/** Whether an application may get, and use, refresh tokens: it has the grant type and the scope `offline_access`. */
export function mayUseRefreshTokens({ grantTypes, scopes }: Application): boolean {
  return grantTypes.includes('refresh_token') && scopes.some(({ name }) => name === 'offline_access');
}

/** Proves who a client is, for the endpoints it may but need not authenticate at; a refusal is audited there too. */
export async function authenticateClient(
  { directory, audit }: { directory: DirectoryClient; audit: Pick<AuditBatch, 'add'> },
  { credentials, caller }: { credentials: CredentialsMessage; caller?: Caller | undefined },
  context: CallContext,
  admits: (application: Application) => boolean,
): Promise<Application> {
  const ipAddress = caller?.ipAddress ?? '';
  try {
    const presented = clientCredentialsOf(credentials);
    const { application } = await directory.authenticateClient(presented, { ipAddress }, context.onward());
    if (admits(application)) return application;
    throw invalidClient(new Refusal('public_client', false));
  } catch (error) {
    auditDenial(audit, { clientId: credentials.clientId, ipAddress }, context, error);
    throw error;
  }
}

/** The issuer of a request: the configured one, else what the gateway established from the host. */
export function issuerOf(configured: string | undefined, caller: Caller | undefined): string {
  const issuer = configured ?? caller?.issuer ?? '';
  if (issuer === '') throw new Error('the request carries no issuer and none is configured');
  return issuer;
}

/** The one answer to a client that is not who it says, or may not be (RFC 6749 §5.2). */
export function invalidClient(cause: Error): OAuthError {
  return new OAuthError('invalid_client', 'Client authentication failed.', { cause });
}
