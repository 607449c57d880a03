import type { ClientCredentials } from '@tessera/directory-client';
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
