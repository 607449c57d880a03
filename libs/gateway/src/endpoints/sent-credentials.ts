import { missingClientId, readClientAuthentication } from '@tessera/oauth';
import { ClientAuthenticationMethod } from '@tessera/proto-gen/token';
import type { EndpointRequest } from './endpoint.ts';

/** How a client identified itself and with which secret, for the services to check. */
export interface SentCredentials {
  /** '' for a client that only sends an assertion. */
  readonly clientId: string;
  /** '' for a client that sends none. */
  readonly clientSecret: string;
  /** '' for a client that sends none. */
  readonly clientAssertion: string;
  readonly clientAssertionType: string;
  readonly method: ClientAuthenticationMethod;
}

/**
 * Reads the authentication of the client (RFC 6749 §2.3.1); undefined if the request names no client. Throws
 * `invalid_request` if more than one way is used and `invalid_client` for a header that cannot be read.
 */
export function sentCredentials({
  authorization,
  parameters,
}: Pick<EndpointRequest, 'authorization' | 'parameters'>): SentCredentials | undefined {
  const client = readClientAuthentication({ authorization, parameter: (name) => parameters.get(name) });
  if (client === undefined) return undefined;
  const method = client.method.toUpperCase() as Uppercase<typeof client.method>;
  const { clientAssertion = '', clientAssertionType = '' } = client;
  return { ...client, clientAssertion, clientAssertionType, method: ClientAuthenticationMethod[method] };
}

/** The same if the client must at least be named. Throws `invalid_request` if it is not. */
export function requiredCredentials(
  request: Pick<EndpointRequest, 'authorization' | 'parameters'>,
): SentCredentials {
  const client = sentCredentials(request);
  if (client === undefined) throw missingClientId();
  return client;
}

/** Whether there is a secret or an assertion to check, not only a name. */
export function hasSecret({ method }: SentCredentials): boolean {
  return method !== ClientAuthenticationMethod.NONE;
}
